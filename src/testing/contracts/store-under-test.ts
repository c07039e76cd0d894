import type { UsersRole } from '../../adapters/stores/store-backend.ts'
import type { OAuthStateStore } from '../../application/ports/stores/oauth-state-store.ts'
import type { SessionStore } from '../../application/ports/stores/session-store.ts'
import type { TokenStore } from '../../application/ports/stores/token-store.ts'
import type { FixedClock } from '../fixed-clock.ts'

/** A new, empty store, ready for use. Its time is `clock`'s. */
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
 * The input of a suite. It opens one store for most of its cases, and one more for each case that needs an untouched
 * one. The runner of the suite closes the shared store.
 */
export type Open<T> = () => Promise<T>

/** `false` if the store's server expires records by its own clock: then `sweep` may find nothing to delete. */
export interface SweepOptions {
  readonly sweeps: boolean
}

/** Opens the store at the first call, and returns the same store from then on. */
export function shared<T>(open: Open<T>): Open<T> {
  let opened: Promise<T> | undefined
  return () => {
    opened ??= open()
    return opened
  }
}

/** Runs `act` on an untouched store, and closes it. */
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
