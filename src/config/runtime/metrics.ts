import { backlogOf } from '../../adapters/metrics/backlog.ts'
import type { Metrics } from '../../adapters/metrics/metrics.ts'
import type { OpenTenants } from '../../adapters/tenants/directory.ts'
import { limitNames } from '../../application/limits/counters.ts'
import { recent } from '../../lib/recent.ts'
import { urlHost } from '../../lib/url-host.ts'
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
    access: () => tenants.opened().flatMap((tenant) => tenant.foundAccess()),
    backlog: recent(() => backlogOf(tenants.opened()), { memoryMilliseconds: 5_000, waitMilliseconds: 1_000 }),
  })
  const failed = (err: unknown): void => log.error({ err }, 'the metrics cannot be read')
  const server = await serveMetrics(metrics.registry, { host, port, allowedHosts, failed })
  log.info({ url: `http://${urlHost(host)}:${server.port}/metrics` }, 'metrics are served')
  return server.close
}
