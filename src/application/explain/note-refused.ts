import type { EmailKey } from '../../domain/email.ts'
import { InvalidInput, LimitReached, Refusal, type RefusalCode } from '../../domain/refusal.ts'
import type { RefusedLogin, RefusedReason } from '../../domain/refused-login.ts'
import { counterSeparator, type KeyRing } from '../ports/key-ring.ts'
import type { RefusedLogins } from '../ports/stores/refused-logins.ts'

/** A refused login is shown and kept for this time. In seconds. */
export const refusedLoginSeconds = 86_400

export interface NoteNeeds {
  /** Notes a refused login of the account. It neither waits nor throws. Absent where nobody asks for refused logins. */
  noteRefused?: ((account: EmailKey, login: Omit<RefusedLogin, 'at'>) => void) | undefined
}

/** The account of a login under way, and the reason if it is refused. `noting` makes one for each login. */
export class LoginTrace {
  readonly #needs: NoteNeeds
  /** `null` until the account is known. Nothing is noted without one. */
  account: EmailKey | null = null
  /** The reason if the login is refused now; `null` if the refusal itself tells it. */
  reason: RefusedReason | null = null
  detail: string | null = null
  #isNoted = false
  constructor(needs: NoteNeeds) {
    this.#needs = needs
  }

  /** Notes the login, once. */
  note(reason: RefusedReason, detail: string | null = null): void {
    if (this.#isNoted || this.account === null) return
    this.#isNoted = true
    this.#needs.noteRefused?.(this.account, { reason, detail })
  }

  /** Notes the refusal of the login. */
  refused(thrown: unknown): void {
    if (thrown instanceof InvalidInput) return
    if (thrown instanceof LimitReached) this.note('limit_reached', thrown.limit)
    else if (!(thrown instanceof Refusal)) this.note('unavailable')
    else this.note(reasons[thrown.code] ?? this.reason ?? 'provider_refused', this.detail)
  }
}

const reasons: Partial<Record<RefusalCode, RefusedReason>> = {
  LOGIN_USER_NOT_VERIFIED: 'not_verified',
  OAUTH_USER_ALREADY_EXISTS: 'provider_not_linked',
}

/** Every way to log in does its work here, so each refusal leaves the same note, whether or not a user has the address. */
export async function noting<R>(needs: NoteNeeds, work: (trace: LoginTrace) => Promise<R>): Promise<R> {
  const trace = new LoginTrace(needs)
  try {
    return await work(trace)
  } catch (thrown) {
    trace.refused(thrown)
    throw thrown
  }
}

interface Needs {
  refusedLogins: Pick<RefusedLogins, 'add' | 'list'>
  keyRing: Pick<KeyRing, 'counterKey'>
  clock: () => Date
  /** Called when a refused login was not written. Must not throw. */
  warnOfUnnoted: (unnoted: { readonly err: unknown }) => void
}

/** Further notes are dropped while this many are written, so that a store that is down or slow costs nothing. */
const mostWaiting = 10

/** Writes refused logins beside the answers to them: no login waits for its note or fails by it. */
export class RefusalNotes {
  readonly #needs: Needs
  #waiting = 0
  constructor(needs: Needs) {
    this.#needs = needs
  }

  note(account: EmailKey, login: Omit<RefusedLogin, 'at'>): void {
    if (this.#waiting >= mostWaiting) return
    const { refusedLogins, clock, warnOfUnnoted } = this.#needs
    const [key = ''] = keysOf(this.#needs, account)
    this.#waiting++
    refusedLogins
      .add(key, { ...login, at: clock() })
      .catch((err: unknown) => warnOfUnnoted({ err }))
      .finally(() => {
        this.#waiting--
      })
  }
}

/** The key of an account by each secret. The first one is that of new notes. */
function keysOf({ keyRing }: Pick<Needs, 'keyRing'>, account: EmailKey): readonly string[] {
  return keyRing.counterKey('refused login', account).split(counterSeparator)
}

/** The refused logins of the last day, the latest first. */
export async function refusedLoginsOf(
  needs: Omit<Needs, 'warnOfUnnoted'>,
  account: EmailKey,
): Promise<readonly RefusedLogin[]> {
  const since = new Date(needs.clock().getTime() - refusedLoginSeconds * 1000)
  const found = await Promise.all(keysOf(needs, account).map((key) => needs.refusedLogins.list(key, since)))
  return found.flat().sort((a, b) => b.at.getTime() - a.at.getTime())
}
