import type { Logger } from '../../adapters/logging/log.ts'
import type { Closable } from './directory.ts'

interface Needs {
  readonly id: string
  readonly log: Logger
  /** Aborted once nothing more is waited for. */
  readonly hurry: AbortSignal
  /** Whether a tenant is opened again for what falls due in it. */
  readonly mayReopen: () => boolean
  /** Opens the tenant again at this time. Called while the store can still be asked. */
  readonly wakeAt: (due: Date | 'unknown') => void
}

const deliveryGraceSeconds = 10
/** The line of the log when closing a tenant fails. */
export const notInOrder = 'a tenant was not closed in order'

/** Closes a tenant that nobody uses any more: deliveries end first, and no event is forgotten. Never rejects. */
export async function drain(tenant: Closable, { id, log, hurry, mayReopen, wakeAt }: Needs): Promise<void> {
  const logged = (err: unknown): void => log.error({ err, tenant: id }, notInOrder)
  if (mayReopen()) await tenant.startDue().catch(() => undefined) // a store that is down keeps its events
  await Promise.race([tenant.stopDeliveries(deliveryGraceSeconds), aborted(hurry)]).catch(logged)
  if (hurry.aborted) await tenant.stopDeliveries(0).catch(logged)
  if (mayReopen()) {
    const due = await tenant.nextDue().catch(() => 'unknown' as const)
    if (due !== null) wakeAt(due)
  }
  await tenant.close().catch(logged)
}

export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}
