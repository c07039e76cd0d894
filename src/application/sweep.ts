import type { OAuthStateStore } from './ports/oauth-state-store.ts'
import type { Outbox } from './ports/outbox.ts'
import type { SessionStore } from './ports/session-store.ts'
import type { TokenStore } from './ports/token-store.ts'

interface Needs {
  sessions: SessionStore
  tokens: TokenStore
  oauthStates: OAuthStateStore
  outbox: Outbox
  clock: () => Date
}

/** Rows that one write removes: so few that nobody waits long for it. */
const batch = 500
const deadLetterDays = 30

/** Removes what is over and only takes up room: what expired of sessions, tokens and OAuth states, old dead letters. */
export class Sweep {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  /** Answers how many went. A store that fails does not keep the others from being swept. */
  async execute(): Promise<{ sessions: number; tokens: number; oauthStates: number; deadLetters: number }> {
    const { sessions, tokens, oauthStates, outbox, clock } = this.#needs
    const diedBefore = new Date(clock().getTime() - deadLetterDays * 86_400_000)
    const results = await Promise.allSettled([
      exhaust(() => sessions.sweep(batch)),
      exhaust(() => tokens.sweep(batch)),
      exhaust(() => oauthStates.sweep(batch)),
      exhaust(() => outbox.sweepDead(diedBefore, batch)),
    ])
    const [ended, spent, lost, dead] = results.map((result) => {
      if (result.status === 'rejected') throw result.reason
      return result.value
    })
    return { sessions: ended ?? 0, tokens: spent ?? 0, oauthStates: lost ?? 0, deadLetters: dead ?? 0 }
  }
}

async function exhaust(sweepSome: () => Promise<number>): Promise<number> {
  let total = 0
  for (;;) {
    const removed = await sweepSome()
    total += removed
    if (removed < batch) return total
  }
}
