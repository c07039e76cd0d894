import { isUserId } from '../../domain/ids.ts'
import { Refusal } from '../../domain/refusal.ts'
import { isAlive, mayBeEnded, type User } from '../../domain/user.ts'
import type { Credential, Credentials } from '../ports/credentials.ts'
import type { UserStore } from '../ports/stores/user-store.ts'

/** One way to log in: a strategy under the name that the deployer gave it. */
export interface Backend {
  readonly name: string
  readonly credentials: Credentials
  readonly requiresVerification: boolean
}

/** Who makes a request, by which credential. */
export interface Authenticated {
  readonly user: User
  readonly credential: Credential
  readonly backend: Backend
}

/** Demands that somebody acts, by a credential of their own: `Authenticate` answers `null` for nobody. */
export function demandAuthenticated(by: Authenticated | null | undefined): asserts by is Authenticated {
  const { user, credential } = by ?? {}
  const isTheirs = isUserId(user?.id) && credential?.userId === user.id
  if (!isTheirs || typeof credential.id !== 'string' || !(credential.expiresAt instanceof Date)) {
    throw new Refusal('UNAUTHORIZED')
  }
}

/** Whether the credential still speaks for `fresh`. Its end is looked for only where the record says that there may be one. */
export async function speaksFor(
  fresh: User,
  { credential, backend }: Pick<Authenticated, 'credential' | 'backend'>,
): Promise<boolean> {
  if (!isAlive(fresh, credential)) return false
  return !mayBeEnded(fresh, credential) || !(await backend.credentials.isEnded(credential))
}

/** A value that a request carries where a backend's transport looks. */
export interface Presented {
  readonly backend: Backend
  readonly value: string
}

/**
 * Finds out who presents these values: the first that an active user's living credential answers to. What can
 * change is judged on the user record every time (NIST SP 800-63B-4 section 5.1).
 */
export class Authenticate {
  readonly #users: UserStore
  constructor(needs: { users: UserStore }) {
    this.#users = needs.users
  }

  async execute(presented: readonly Presented[]): Promise<Authenticated | null> {
    for (const { backend, value } of presented) {
      if (typeof value !== 'string' || !backend.credentials.recognises(value)) continue
      const credential = await backend.credentials.read(value)
      if (credential === null) continue
      const user = await this.#users.find(credential.userId)
      if (user !== null && (await speaksFor(user, { credential, backend }))) return { user, credential, backend }
    }
    return null
  }
}
