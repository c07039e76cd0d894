import type { Logger } from '../../adapters/logging/log.ts'
import { backlogOf } from '../../adapters/metrics/backlog.ts'
import type { Metrics } from '../../adapters/metrics/metrics.ts'
import type { FiguresSource } from '../../adapters/metrics/metrics-server.ts'
import type { Figures } from '../../adapters/metrics/summed-figures.ts'
import type { OpenTenants } from '../../adapters/tenants/directory.ts'
import { limitNames } from '../../application/limits/counters.ts'
import { recent } from '../../lib/recent.ts'
import { urlHost } from '../../lib/url-host.ts'
import type { SharedFigures, SharedResources } from '../composition/shared-resources.ts'
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
  /** Given where another process has the port. */
  readonly sharedFigures?: SharedFigures | undefined
}

/** Serves the figures at `GET /metrics`, if there are any. Returns the function that ends it. */
export async function exposeMetrics({ settings, shared, tenants, sharedFigures }: Needs): Promise<() => Promise<void>> {
  const { metrics, hashPool, log } = shared
  const { port } = settings.metrics
  if (metrics === null || port === undefined) return async () => undefined
  const { registerGauges } = await import('../../adapters/metrics/gauges.ts')
  registerGauges(metrics.registry, {
    hashes: hashPool.figures,
    tenants: tenants.counts,
    stores: () => tenants.opened().flatMap((tenant) => tenant.storeStates()),
    access: () => tenants.opened().flatMap((tenant) => tenant.foundAccess()),
    backlog: recent(() => backlogOf(tenants.opened()), { memoryMilliseconds: 5_000, waitMilliseconds: 1_000 }),
  })
  return sharedFigures?.(metrics.registry) ?? listen(metrics.registry, port, settings, log)
}

interface SummedNeeds {
  readonly settings: Settings
  readonly log: Logger
  /** Asks the processes for their figures; returns their ids. */
  readonly ask: () => readonly number[]
}

/** Collects the figures of several processes. */
export interface SummedMetrics {
  readonly heard: (id: number, figures: Figures) => void
  readonly ended: (id: number) => void
}

/** Serves the sums of the figures of several processes at `GET /metrics`. */
export async function exposeSummedMetrics({ settings, log, ask }: SummedNeeds): Promise<SummedMetrics> {
  const { summedFigures } = await import('../../adapters/metrics/summed-figures.ts')
  const summed = summedFigures(ask)
  await listen(summed, settings.metrics.port ?? 0, settings, log)
  return summed
}

async function listen(
  source: FiguresSource,
  port: number,
  { metrics: { host, allowedHosts } }: Settings,
  log: Logger,
): Promise<() => Promise<void>> {
  const { serveMetrics } = await import('../../adapters/metrics/metrics-server.ts')
  const failed = (err: unknown): void => log.error({ err }, 'the metrics cannot be read')
  const server = await serveMetrics(source, { host, port, allowedHosts, failed })
  log.info({ url: `http://${urlHost(host)}:${server.port}/metrics` }, 'metrics are served')
  return server.close
}
