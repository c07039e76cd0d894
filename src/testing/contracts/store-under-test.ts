import type { UsersRole } from '../../adapters/stores/store-backend.ts'
import type { OAuthStateStore } from '../../application/ports/stores/oauth-state-store.ts'
import type { SessionStore } from '../../application/ports/stores/session-store.ts'
import type { TokenStore } from '../../application/ports/stores/token-store.ts'
import type { FixedClock } from '../fixed-clock.ts'

/** A fresh, empty store, ready to be used; its time is `clock`'s. */
interface Opened<Role> {
  readonly clock: FixedClock
  /** Another handle on the same storage, with connections of its own where the technology has connections. */
  second(): Promise<Role>
  /** Closes every handle, and drops the storage. */
  close(): Promise<void>
}

export interface OpenedUsers extends Opened<UsersRole> {
  readonly role: UsersRole
}

export interface OpenedSessions extends Opened<SessionStore> {
  readonly store: SessionStore
}

export interface OpenedTokens extends Opened<TokenStore> {
  readonly store: TokenStore
}

export interface OpenedOAuthStates extends Opened<OAuthStateStore> {
  readonly store: OAuthStateStore
}

/**
 * What a suite is given. It opens one store for most of its cases, and one more for each case that needs an
 * untouched one. The suite closes none of the first kind: whoever runs it closes what was opened.
 */
export type Open<T> = () => Promise<T>

/** Where the store's server ends records by its own clock, `sweep` may find nothing to delete. */
export interface SweepOptions {
  readonly sweeps: boolean
}

/** Opens at the first call, and answers the same store ever after. */
export function shared<T>(open: Open<T>): Open<T> {
  let opened: Promise<T> | undefined
  return () => {
    opened ??= open()
    return opened
  }
}

/** Runs `act` on a store nobody has touched, and closes it. */
export async function afresh<T extends { close(): Promise<void> }>(
  open: Open<T>,
  act: (opened: T) => Promise<void>,
): Promise<void> {
  const opened = await open()
  try {
    await act(opened)
  } finally {
    await opened.close()
  }
}
