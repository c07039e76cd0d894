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

/** A login that may be refused. */
export interface NotedLogin {
  /** `null`: nothing is noted. A function tells the account of a login whose work finds it out. */
  readonly account: EmailKey | null | (() => Promise<EmailKey | null>)
  /** The reason of a refusal that does not tell it by itself. */
  readonly reason: RefusedReason | null
  readonly detail?: string | null
}

/** Every part of a login that may refuse it runs here, so each refusal leaves the same note, whether or not a user has the address. */
export async function noting<R>(needs: NoteNeeds, login: NotedLogin, work: () => Promise<R>): Promise<R> {
  try {
    return await work()
  } catch (thrown) {
    throw await noted(needs, login, thrown)
  }
}

/** Notes the refusal of a login, and returns it. */
export async function noted(needs: NoteNeeds, login: NotedLogin, thrown: unknown): Promise<unknown> {
  const note = noteOf(login, thrown)
  const account = typeof login.account === 'function' ? await login.account().catch(() => null) : login.account
  if (note !== null && account !== null) needs.noteRefused?.(account, note)
  return thrown
}

function noteOf({ reason, detail = null }: NotedLogin, thrown: unknown): Omit<RefusedLogin, 'at'> | null {
  if (thrown instanceof InvalidInput) return null
  if (thrown instanceof LimitReached) return { reason: 'limit_reached', detail: thrown.limit }
  if (!(thrown instanceof Refusal)) return { reason: 'unavailable', detail: null }
  return { reason: reasons[thrown.code] ?? reason ?? 'provider_refused', detail }
}

const reasons: Partial<Record<RefusalCode, RefusedReason>> = {
  LOGIN_USER_NOT_VERIFIED: 'not_verified',
  OAUTH_USER_ALREADY_EXISTS: 'provider_not_linked',
  OAUTH_NOT_AVAILABLE_EMAIL: 'provider_refused',
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
