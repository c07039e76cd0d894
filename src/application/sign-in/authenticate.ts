import { type Actor, type ActorWithoutLogin, person } from '../../domain/actor.ts'
import { isAlive, mayBeEnded, type User } from '../../domain/user.ts'
import type { Credential, Credentials } from '../ports/credentials.ts'
import type { UserStore } from '../ports/stores/user-store.ts'

/** One way to log in: a strategy under the name that the deployer gave it. */
export interface Backend {
  readonly name: string
  readonly credentials: Credentials
  readonly requiresVerification: boolean
  /** The unique field whose values users may type in place of their address; by default there is none. */
  readonly loginField?: string | null
  /** Whether browsers send its credentials automatically. Only logins through such a backend may be reported as new. */
  readonly isForBrowsers?: boolean
}

export interface Authenticated {
  /** Tells a login from the other actors. */
  readonly type?: undefined
  readonly user: User
  readonly credential: Credential
  readonly backend: Backend
}

/** The caller of a use case: a login, or an actor without one. */
export type By = Authenticated | ActorWithoutLogin

export function actorOf(by: By): Actor {
  return by.type === undefined ? loggedIn(by.user, by.credential) : by
}

export function loggedIn(user: User, credential: Credential): Actor {
  return person(user, credential.sid)
}

/** Whether the credential is still valid for the record `fresh`. It reads the recorded ends only if `mayBeEnded`. */
export async function speaksFor(
  fresh: User,
  { credential, backend }: Pick<Authenticated, 'credential' | 'backend'>,
): Promise<boolean> {
  if (!isAlive(fresh, credential)) return false
  return !mayBeEnded(fresh, credential) || !(await backend.credentials.isEnded(credential))
}

export interface CandidateCredential {
  readonly backend: Backend
  readonly value: string
}

/**
 * Finds the user of the first valid credential. It reads the user record every time, because the record decides
 * (NIST SP 800-63B-4 section 5.1).
 */
export class Authenticate {
  readonly #users: UserStore
  constructor(needs: { users: UserStore }) {
    this.#users = needs.users
  }

  async execute(candidates: readonly CandidateCredential[]): Promise<Authenticated | null> {
    for (const { backend, value } of candidates) {
      if (!backend.credentials.recognises(value)) continue
      const credential = await backend.credentials.read(value)
      if (credential === null) continue
      const user = await this.#users.find(credential.userId)
      if (user === null || !(await speaksFor(user, { credential, backend }))) continue
      return { user, credential, backend }
    }
    return null
  }
}
