import type { Outbox } from './ports/outbox.ts'
import type { SessionStore } from './ports/session-store.ts'
import type { TokenStore } from './ports/token-store.ts'

interface Needs {
  sessions: SessionStore
  tokens: TokenStore
  outbox: Outbox
  clock: () => Date
}

/** Rows that one write removes: so few that nobody waits long for it. */
const batch = 500
const deadLetterDays = 30

/** Removes what is over and only takes up room: expired sessions and tokens, and dead letters of 30 days. */
export class Sweep {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  /** Answers how many went. A store that fails does not keep the others from being swept. */
  async execute(): Promise<{ sessions: number; tokens: number; deadLetters: number }> {
    const { sessions, tokens, outbox, clock } = this.#needs
    const diedBefore = new Date(clock().getTime() - deadLetterDays * 86_400_000)
    const results = await Promise.allSettled([
      exhaust(() => sessions.sweep(batch)),
      exhaust(() => tokens.sweep(batch)),
      exhaust(() => outbox.sweepDead(diedBefore, batch)),
    ])
    const [swept, spent, dead] = results.map((result) => {
      if (result.status === 'rejected') throw result.reason
      return result.value
    })
    return { sessions: swept ?? 0, tokens: spent ?? 0, deadLetters: dead ?? 0 }
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
