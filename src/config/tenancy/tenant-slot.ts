import type { TenantSettings } from '../settings/tenants.ts'
import type { Closable } from './directory.ts'

/** An opening of a tenant, until it has been closed. */
export interface Slot<T extends Closable> {
  readonly settings: TenantSettings
  readonly opened: Promise<T>
  /** Rejects when requests are not to wait for the opening any longer. */
  readonly patience: Promise<never>
  /** Whether it counts among those that may be open. */
  hasPlace: boolean
  /** `null` while it is being opened. */
  tenant: T | null
  /** Calls that are using it. */
  users: number
  /** When a request last did, by `performance.now`; 0 for one that was only looked after. */
  lastUsed: number
  /** Set once nobody new is let in. */
  leaving: Promise<void> | null
  /** Called when the last user has gone. */
  abandoned: () => void
}

/** The line of the log when closing one fails. */
export const notInOrder = 'a tenant was not closed in order'
