import type { UserId } from './ids.ts'
import type { User } from './user.ts'

/** The person, provider or program that acts on an account. It is plain data: events keep it, and handlers get it. */
export type Actor = Person | ActorWithoutLogin

interface Person {
  /** `'superuser'`: a user with the rights of one, also on the own account. */
  readonly type: 'user' | 'superuser'
  readonly id: UserId
  /** The login; `null` if a one-time token proved the user instead. */
  readonly sid: string | null
}

export type ActorWithoutLogin =
  /** A provider that vouches for a person who signs in. */
  | { readonly type: 'provider'; readonly name: string }
  /** `'program'`: one that embeds Portcullis. `'command'`: one of the command line. `'nobody'`: anybody, without a proof. */
  | { readonly type: 'program' | 'command' | 'nobody' }

export const nobody: Actor = { type: 'nobody' }

export function person({ id, isSuperuser }: User, sid: string | null): Actor {
  return { type: isSuperuser ? 'superuser' : 'user', id, sid }
}
