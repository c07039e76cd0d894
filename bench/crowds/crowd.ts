import { newId } from '../../src/adapters/crypto/new-id.ts'
import type { StoreHandle } from '../../src/adapters/stores/store-backend.ts'
import type { Email } from '../../src/domain/email.ts'
import type { UserId } from '../../src/domain/ids.ts'
import { newUser, type User } from '../../src/domain/user.ts'
import type { ServiceStart } from '../processes.ts'

/** Many users in a store. */
export interface Crowd {
  readonly ids: readonly UserId[]
  readonly emails: readonly string[]
  readonly superuser: User
  /** Starts a service with these users. */
  readonly start: Pick<ServiceStart, 'dataFolder' | 'env'>
  /** Opens the store in this process. */
  open(): Promise<Pick<Required<StoreHandle>, 'users' | 'prepare' | 'close'>>
}

/** Creates crowds in a kind of store. */
export interface Crowds {
  /** Follows the name of a measurement. */
  readonly suffix: string
  /** Reads of the store alone in a round. */
  readonly readsPerRound: number
  create(count: number, hash: string): Promise<Crowd>
  /** The processes of the server, if the store has one. */
  serverProcesses(): readonly number[]
  end(): Promise<void>
}

/** A user with a random address. */
export function someone(hash: string, at: Date): User {
  const email = `${Math.random().toString(36).slice(2)}.${newId()}@example.com` as Email // safe: no other characters
  return newUser(newId(), email, hash, at)
}

export const asSuperuser = (user: User): User => ({ ...user, isSuperuser: true, isVerified: true })
