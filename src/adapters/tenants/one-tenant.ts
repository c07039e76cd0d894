import { isDeepStrictEqual } from 'node:util'
import { Unavailable } from '../../domain/refusal.ts'
import { unlessAborted } from '../../lib/timers.ts'
import {
  type Closable,
  type Log,
  longestDeliverySeconds,
  notInOrder,
  type Open,
  type OpenTenants,
  type Setup,
  type Tenants,
} from './directory.ts'

interface Needs<T, Own extends Setup> {
  readonly open: Open<T, Own>
  /** Called when the tenant has become unusable. */
  readonly failed: (fault: unknown) => void
  readonly log: Log
}

/** One opening of the tenant. */
interface Entry<T, Own extends Setup> {
  readonly settings: Own
  readonly tenant: T
  readonly calls: Set<Promise<unknown>>
}

/**
 * The directory of a deployment without tenants: its tenant opens with the process and closes with it. A reload opens it
 * with the new settings before the former opening closes, so no request waits, and a fault changes nothing.
 */
export function oneTenant<T extends Closable, Own extends Setup>(
  only: Own,
  { open, failed, log }: Needs<T, Own>,
): Omit<OpenTenants<T, Tenants<Own>>, 'use'> {
  let current: Entry<T, Own> | null = null
  const replaced = new Set<Promise<void>>()
  let isDelivering = false
  let isClosed = false
  /** Aborted when the grace period of `close` has ended. */
  const hurry = new AbortController()

  async function openWith(settings: Own): Promise<Entry<T, Own>> {
    return { settings, tenant: await open(settings, failed), calls: new Set() }
  }

  async function inspect<R>(_id: string, work: (tenant: T) => Promise<R>): Promise<R> {
    if (current === null || isClosed) throw new Unavailable('Portcullis is closed')
    const { tenant, calls } = current
    const call = work(tenant)
    calls.add(call)
    try {
      return await call
    } finally {
      calls.delete(call)
    }
  }

  /** Closes a former opening when its calls and deliveries have ended. Never rejects. */
  async function retire({ tenant, calls }: Entry<T, Own>): Promise<void> {
    try {
      const ended = Promise.all([tenant.stopDeliveries(longestDeliverySeconds), Promise.allSettled(calls)])
      await unlessAborted(ended, hurry.signal)
      if (hurry.signal.aborted) await tenant.stopDeliveries(0)
      await tenant.close()
    } catch (err) {
      log.error({ err }, notInOrder)
    }
  }

  async function stop(entry: Entry<T, Own> | null, graceSeconds: number): Promise<void> {
    await entry?.tenant.stopDeliveries(graceSeconds)
    await entry?.tenant.close()
  }

  return {
    knows: (id) => id === only.id,
    inspect,
    async prepare() {
      current = await openWith(only)
    },
    startDeliveries() {
      isDelivering = true
      current?.tenant.startDeliveries()
    },
    async replace({ enabled }) {
      const settings = enabled.get(only.id)
      if (current === null || settings === undefined || isDeepStrictEqual(settings, current.settings)) return
      const next = await openWith(settings)
      if (isClosed) return next.tenant.close()
      const former = retire(current).finally(() => replaced.delete(former))
      replaced.add(former)
      current = next
      if (isDelivering) next.tenant.startDeliveries()
    },
    counts: () => ({ open: current === null ? 0 : 1, disabled: 0 }),
    opened: () => (current === null ? [] : [current.tenant]),
    async close(graceSeconds) {
      isClosed = true
      const timer = setTimeout(() => hurry.abort(), graceSeconds * 1000)
      try {
        await Promise.all([...replaced, stop(current, graceSeconds)]) // one grace period for all of them
      } finally {
        clearTimeout(timer)
      }
    },
  }
}
