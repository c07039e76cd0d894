import { isIPv6 } from 'node:net'
import type { Backlog } from '../../adapters/metrics/gauges.ts'
import type { Metrics } from '../../adapters/metrics/metrics.ts'
import type { OpenTenants } from '../../adapters/tenants/directory.ts'
import { limitNames } from '../../application/limits/counted-limits.ts'
import type { Outbox } from '../../application/ports/stores/outbox.ts'
import { Unavailable } from '../../domain/refusal.ts'
import { recent } from '../../lib/recent.ts'
import type { SharedResources } from '../composition/shared-resources.ts'
import type { Tenant } from '../composition/tenant.ts'
import type { Settings } from '../settings/schema/schema.ts'

/** The figures of this process; `null` if the settings name no port. */
export async function metricsOf({ metrics }: Settings): Promise<Metrics | null> {
  if (metrics.port === undefined) return null
  const { openMetrics } = await import('../../adapters/metrics/metrics.ts')
  return openMetrics(limitNames)
}

interface Needs {
  readonly settings: Settings
  readonly shared: SharedResources
  readonly tenants: OpenTenants<Tenant>
}

/** Serves the figures at `GET /metrics`, if there are any. Returns the function that ends it. */
export async function exposeMetrics({ settings, shared, tenants }: Needs): Promise<() => Promise<void>> {
  const { metrics, hashPool, log } = shared
  const { host, port, allowedHosts } = settings.metrics
  if (metrics === null || port === undefined) return async () => undefined
  const { registerGauges } = await import('../../adapters/metrics/gauges.ts')
  const { serveMetrics } = await import('../../adapters/metrics/metrics-server.ts')
  registerGauges(metrics.registry, {
    hashes: hashPool.figures,
    tenants: tenants.counts,
    stores: () => tenants.opened().flatMap((tenant) => tenant.storeStates()),
    backlog: recent(() => backlogOf(tenants.opened()), { memoryMilliseconds: 5_000, waitMilliseconds: 1_000 }),
  })
  const failed = (err: unknown): void => log.error({ err }, 'the metrics cannot be read')
  const server = await serveMetrics(metrics.registry, { host, port, allowedHosts, failed })
  log.info({ url: `http://${isIPv6(host) ? `[${host}]` : host}:${server.port}/metrics` }, 'metrics are served')
  return server.close
}

/** The sum over the tenants whose store of users answers, asked one after the other; `null` if there is none. */
async function backlogOf(tenants: readonly Tenant[]): Promise<Backlog | null> {
  let sum: Backlog | null = null
  for (const tenant of tenants) {
    const counts = await backlogIn(tenant)
    sum = sum === null || counts === null ? (sum ?? counts) : added(sum, counts)
  }
  return sum
}

/** The largest number that is counted for each tenant, so that counting stays fast while millions wait. */
const mostCounted = 10_000

/** The undelivered events and token requests; `null` while the store of users does not answer. */
async function backlogIn({ isReady, failing, log, ports }: Tenant): Promise<Backlog | null> {
  if (!isReady()) return null
  const counts = async (records: Pick<Outbox, 'count'>) => ({
    waiting: await records.count('waiting', mostCounted),
    dead: await records.count('dead', mostCounted),
  })
  try {
    return { event: await counts(ports.outbox), token_request: await counts(ports.tokenRequests) }
  } catch (thrown) {
    if (thrown instanceof Unavailable) void failing()
    else log.warn({ err: thrown }, 'a background task failed')
    return null
  }
}

function added(one: Backlog, other: Backlog): Backlog {
  const sum = (kind: keyof Backlog) => ({
    waiting: one[kind].waiting + other[kind].waiting,
    dead: one[kind].dead + other[kind].dead,
  })
  return { event: sum('event'), token_request: sum('token_request') }
}
