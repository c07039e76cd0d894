import { Unavailable } from '../../domain/refusal.ts'
import type { LoadedTenants, TenantSettings } from '../settings/tenants.ts'

/** A tenant as far as opening and closing goes. */
export interface Closable {
  /** Whether its users' store has been reached and holds users of this very secret. */
  isReady(): boolean
  /** From now on events are delivered, unless they are left to others, and expired records are swept. */
  startDeliveries(): void
  /** Starts the deliveries that are due and those that were asked for. */
  startDue(): Promise<void>
  /** Resolves once everything that waited has been started and expired records are swept. */
  oneRound(): Promise<void>
  /** When the next event falls due; `null` when none waits. */
  nextDue(): Promise<Date | null>
  /** Starts no more deliveries. Those that run have `graceSeconds` to end. */
  stopDeliveries(graceSeconds: number): Promise<void>
  close(): Promise<void>
}

/** The tenants that callers see: one, or many. */
export interface TenantDirectory<T> {
  /** Whether there is such a tenant, enabled or disabled. */
  knows(id: string): boolean
  /**
   * Does `work` with the tenant, which is opened if necessary and stays open meanwhile. Throws `Unavailable` when it is
   * disabled, not ready or cannot be opened, or when its opening or closing another one for it takes longer than 10 s.
   */
  use<R>(id: string, work: (tenant: T) => Promise<R>): Promise<R>
  /** As `use`, also of a tenant that is not ready. */
  inspect<R>(id: string, work: (tenant: T) => Promise<R>): Promise<R>
}

/** For the process that opens and closes them. */
export interface OpenTenants<T> extends TenantDirectory<T> {
  /** Opens the tenant `default`, if it is there. Rejects when the process must not start. */
  prepare(): Promise<void>
  /** From now on open tenants deliver, and closed ones are opened when something in them falls due. */
  startDeliveries(): void
  /**
   * Takes up changed settings: later requests get a tenant of these. A tenant that has changed or is gone is closed once
   * its requests have ended.
   */
  replace(changed: LoadedTenants): void
  counts(): { readonly open: number; readonly disabled: number }
  /** Opens nothing more. Requests and deliveries get `graceSeconds` to end. */
  close(graceSeconds: number): Promise<void>
}

/**
 * Opens and prepares a tenant.
 *
 * @param failed called when the tenant turns out to be unusable later
 */
export type Open<T> = (settings: TenantSettings, failed: (fault: unknown) => void) => Promise<T>

interface OneNeeds<T> {
  readonly only: TenantSettings
  readonly open: Open<T>
  readonly failed: (fault: unknown) => void
}

/** The directory of a deployment without tenants: its tenant opens with the process and closes with it. */
export function oneTenant<T extends Closable>({ only, open, failed }: OneNeeds<T>): OpenTenants<T> {
  let tenant: T | null = null
  let isClosed = false

  async function inspect<R>(_id: string, work: (tenant: T) => Promise<R>): Promise<R> {
    if (tenant === null || isClosed) throw new Unavailable('Portcullis, which is closed')
    return work(tenant)
  }

  return {
    knows: (id) => id === only.id,
    inspect,
    use: (id, work) => inspect(id, (tenant) => whenReady(tenant, work)),
    async prepare() {
      tenant = await open(only, failed)
    },
    startDeliveries: () => tenant?.startDeliveries(),
    replace: () => undefined,
    counts: () => ({ open: tenant === null ? 0 : 1, disabled: 0 }),
    async close(graceSeconds) {
      isClosed = true
      await tenant?.stopDeliveries(graceSeconds)
      await tenant?.close()
    },
  }
}

/** Nobody uses the users' store before its secret is known to be ours. */
export async function whenReady<T extends Closable, R>(tenant: T, work: (tenant: T) => Promise<R>): Promise<R> {
  if (!tenant.isReady()) throw new Unavailable('the store of users, which has not been reached yet')
  return work(tenant)
}
