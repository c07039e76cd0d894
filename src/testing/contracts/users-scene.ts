import assert from 'node:assert/strict'
import type { UsersRole } from '../../adapters/stores/store-backend.ts'
import type { AccountEvent } from '../../domain/events.ts'
import type { User } from '../../domain/user.ts'
import { anEvent, aUser } from '../builders.ts'
import type { ContractCase } from '../contract.ts'
import type { FixedClock } from '../fixed-clock.ts'
import { forgetWaiting } from './deliveries.ts'
import { type Open, type OpenedUsers, shared } from './store-under-test.ts'

export interface UsersScene {
  readonly role: UsersRole
  readonly second: UsersRole
  readonly clock: FixedClock
  /** The store's time, this many seconds from now. */
  inSeconds(seconds: number): Date
}

/** Returns a maker of cases that run on one shared store without waiting events. */
export function onQuietStore(open: Open<OpenedUsers>) {
  const opened = shared(open)
  return (title: string, act: (scene: UsersScene) => Promise<void>): ContractCase => ({
    title,
    async run() {
      const { role, second, clock } = await opened()
      await forgetWaiting(role)
      const inSeconds = (seconds: number): Date => new Date(clock().getTime() + seconds * 1000)
      await act({ role, second: await second(), clock, inSeconds })
    },
  })
}

/** As `onQuietStore`, for cases that depend on users alone and not on the time. */
export function onQuietRoles(open: Open<OpenedUsers>) {
  const on = onQuietStore(open)
  return (title: string, act: (role: UsersRole, second: UsersRole) => Promise<void>): ContractCase =>
    on(title, ({ role, second }) => act(role, second))
}

/** Number of concurrent callers in a case about races. */
export const callers = 24

export function count<T>(outcomes: readonly T[], wanted: T): number {
  return outcomes.filter((one) => one === wanted).length
}

/** A stored user without waiting events. */
export async function stored(role: UsersRole, fields: Partial<User> = {}): Promise<User> {
  const user = aUser(fields)
  assert.equal(await role.users.insert(user, []), 'stored')
  return user
}

/** A stored user with this number of waiting events. */
export async function withEvents(role: UsersRole, howMany: number): Promise<{ user: User; events: AccountEvent[] }> {
  const user = aUser()
  const events = Array.from({ length: howMany }, () => anEvent(user))
  assert.equal(await role.users.insert(user, events), 'stored')
  return { user, events }
}
