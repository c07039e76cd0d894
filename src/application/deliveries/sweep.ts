import type { RequestPurpose } from '../../domain/one-time-token.ts'
import { refusedLoginSeconds } from '../explain/note-refused.ts'
import type { ExpiringMarks } from '../ports/stores/expiring-marks.ts'
import type { Outbox } from '../ports/stores/outbox.ts'
import type { RefusedLogins } from '../ports/stores/refused-logins.ts'
import type { SessionStore } from '../ports/stores/session-store.ts'
import type { SingleUseRecords } from '../ports/stores/single-use-records.ts'
import type { TokenRequests } from '../ports/stores/token-requests.ts'
import type { TokenStore } from '../ports/stores/token-store.ts'
import type { ForgetFormerHashes } from '../transfer/forget-former-hashes.ts'

interface Needs {
  sessions: SessionStore
  tokens: TokenStore
  tokenRequests: TokenRequests
  expiringMarks: ExpiringMarks
  singleUseRecords: SingleUseRecords
  outbox: Outbox
  /** `undefined`: nobody notes refused logins. */
  refusedLogins?: Pick<RefusedLogins, 'sweep'> | undefined
  /** `undefined`: there are no links of a former system. */
  forgetFormerHashes?: ForgetFormerHashes | undefined
  clock: () => Date
  /** The lifetimes of tokens, in seconds. */
  lifetimes: Readonly<Record<RequestPurpose, number>>
}

/** A removal blocks other writes, so each one removes at most this many rows. */
const batch = 500
const deadLetterDays = 30

/**
 * Removes useless records: expired sessions, tokens, marks and single-use records, old dead letters and refused logins, and
 * requests for tokens that have waited for longer than any token lives. Also removes the former hashes that no link needs.
 */
export class Sweep {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  /** Returns the number of removed records. A failing store does not prevent the sweep of the others. */
  async execute(): Promise<number> {
    const { sessions, tokens, tokenRequests, expiringMarks, singleUseRecords, outbox } = this.#needs
    const { forgetFormerHashes, refusedLogins, clock, lifetimes } = this.#needs
    const ago = (seconds: number): Date => new Date(clock().getTime() - seconds * 1000)
    const askedBefore = ago(Math.max(...Object.values(lifetimes)))
    const diedBefore = ago(deadLetterDays * 86_400)
    const results = await Promise.allSettled([
      exhaust(() => sessions.sweep(batch)),
      exhaust(() => tokens.sweep(batch)),
      exhaust(() => tokenRequests.sweep(askedBefore, batch)),
      exhaust(() => tokenRequests.sweepDead(diedBefore, batch)),
      exhaust(() => expiringMarks.sweep(batch)),
      exhaust(() => singleUseRecords.sweep(batch)),
      exhaust(() => outbox.sweepDead(diedBefore, batch)),
      exhaust(async () => (await refusedLogins?.sweep(ago(refusedLoginSeconds), batch)) ?? 0),
      forgetFormerHashes?.execute() ?? 0,
    ])
    let removed = 0
    for (const result of results) {
      if (result.status === 'rejected') throw result.reason
      removed += result.value
    }
    return removed
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
