import { Unavailable } from '../../domain/refusal.ts'

/** The settings of one tenant. Apart from its name, a directory only compares them. */
export interface Setup {
  readonly id: string
}

/** The tenants that the settings name. */
export interface Tenants<Own extends Setup, Faults = unknown> {
  readonly enabled: ReadonlyMap<string, Own>
  /** The faults of each tenant that must not be served. */
  readonly disabled: ReadonlyMap<string, Faults>
}

/** Takes a line for the operator. */
export interface Log {
  error(fields: object, message: string): void
}

/** The part of an opened tenant that its directory needs. */
export interface Closable {
  /** Whether the users' store has been reached and belongs to the secret of this tenant. */
  isReady(): boolean
  /** The stores that do not answer now, which it also logs. Never rejects. */
  failing(): Promise<unknown>
  /** Begins to sweep expired records, and to deliver events unless another process does. */
  startDeliveries(): void
  /** Starts the deliveries that are due now. */
  startDue(): Promise<void>
  /** Resolves when every due delivery has started and expired records are swept. */
  oneRound(): Promise<void>
  /** The time at which the next event falls due; `null` if no event waits. */
  nextDue(): Promise<Date | null>
  /** Starts no more deliveries. Running ones have `graceSeconds` to end. */
  stopDeliveries(graceSeconds: number): Promise<void>
  close(): Promise<void>
}

/** The tenants of a deployment, one or many. */
export interface TenantDirectory<T> {
  /** Whether the tenant exists, enabled or disabled. */
  knows(id: string): boolean
  /**
   * Opens the tenant if necessary, keeps it open and does `work`. Throws `Unavailable` when the tenant is disabled, not
   * ready or cannot be opened. Opening, and the wait for one of `maxOpen` places, may take 10 s each.
   */
  use<R>(id: string, work: (tenant: T) => Promise<R>): Promise<R>
  /** As `use`, but the tenant need not be ready. */
  inspect<R>(id: string, work: (tenant: T) => Promise<R>): Promise<R>
}

/** The directory, for the process that owns it. Only with the type of all settings, `All`, can they be replaced. */
export interface OpenTenants<T, All = never> extends TenantDirectory<T> {
  /** Opens the tenant of requests that name none, if it exists. Rejects when the process must not start. */
  prepare(): Promise<void>
  /** Begins deliveries in open tenants, and opens closed tenants when their events fall due. */
  startDeliveries(): void
  /**
   * Applies changed settings to later requests. A tenant that has changed or is gone closes when its requests have
   * ended. Rejects if the only tenant cannot be opened with the new settings; then nothing changes.
   */
  replace(changed: All): Promise<void>
  counts(): { readonly open: number; readonly disabled: number }
  /** The tenants that are open now. They may close at any time. */
  opened(): readonly T[]
  /** Opens no more tenants. Requests and deliveries get `graceSeconds` to end. */
  close(graceSeconds: number): Promise<void>
}

/**
 * Opens and prepares a tenant.
 *
 * @param failed called when the opened tenant turns out to be unusable
 */
export type Open<T, Own extends Setup> = (settings: Own, failed: (fault: unknown) => void) => Promise<T>

/** Longer than a handler may take, so that closing a tenant interrupts no running handler. */
export const longestDeliverySeconds = 4000

/** The line of the log when closing a tenant fails. */
export const notInOrder = 'a tenant was not closed in order'

/** Refuses to use a store of users before its secret has been compared. The log names a store that does not answer. */
export async function whenReady<T extends Closable, R>(tenant: T, work: (tenant: T) => Promise<R>): Promise<R> {
  if (!tenant.isReady()) throw new Unavailable('the user store has not answered yet, or is closed')
  try {
    return await work(tenant)
  } catch (thrown) {
    if (thrown instanceof Unavailable) void tenant.failing()
    throw thrown
  }
}

type Method = (input: unknown) => Promise<unknown>

/** The same use cases. Every call throws `Unavailable` until the tenant is ready, and after it is closed. */
export function whileReady<UseCases extends object>(tenant: Closable, useCases: UseCases): UseCases {
  const guarded = Object.entries(useCases).map(([name, useCase]: [string, object]) => {
    const methods = Object.entries(useCase).map(([name, method]: [string, Method]) => {
      return [name, (input: unknown) => whenReady(tenant, () => method(input))]
    })
    return [name, Object.fromEntries(methods)]
  })
  return Object.fromEntries(guarded) // safe: it has the names and methods of `useCases`
}
