import type { Logger } from '../../adapters/logging/log.ts'
import type { Closable } from './directory.ts'

interface Needs {
  readonly id: string
  readonly log: Logger
  /** The time for running deliveries. Longer ones are released and repeated. */
  readonly graceSeconds: number
  /** Aborted when the grace period of the process has ended. */
  readonly hurry: AbortSignal
  /** Whether the process may open the tenant again for due events. */
  readonly mayReopen: () => boolean
  /** Opens the tenant again at this time. Called before the store closes. */
  readonly wakeAt: (due: Date | 'unknown') => void
}

/** Longer than a handler may take, so that closing a tenant neither loses nor repeats a message on its way. */
export const longestDeliverySeconds = 4000

/** The line of the log when closing a tenant fails. */
export const notInOrder = 'a tenant was not closed in order'

/** Closes an unused tenant: deliveries end first, and `wakeAt` remembers the next event. Never rejects. */
export async function drain(
  tenant: Closable,
  { id, log, graceSeconds, hurry, mayReopen, wakeAt }: Needs,
): Promise<void> {
  const logged = (err: unknown): void => log.error({ err, tenant: id }, notInOrder)
  if (mayReopen()) await tenant.startDue().catch(() => undefined) // a store that is down keeps its events
  await unlessAborted(tenant.stopDeliveries(graceSeconds), hurry).catch(logged)
  if (hurry.aborted) await tenant.stopDeliveries(0).catch(logged)
  if (mayReopen()) {
    const due = await tenant.nextDue().catch(() => 'unknown' as const)
    if (due !== null) wakeAt(due)
  }
  await tenant.close().catch(logged)
}

/** Settles like `work`, or resolves when the signal is aborted. A lasting signal keeps no listener of it. */
export async function unlessAborted(work: Promise<unknown>, signal: AbortSignal): Promise<void> {
  const { promise: aborted, resolve } = Promise.withResolvers<void>()
  const onAbort = (): void => resolve()
  if (signal.aborted) resolve()
  signal.addEventListener('abort', onAbort)
  try {
    await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
