import { hasTryPage } from '../../adapters/http/pages/try-page.ts'
import { app } from '../../adapters/http/server/app.ts'
import { httpServer } from '../../adapters/http/server/http-server.ts'
import { warnOfNoHandlers } from '../composition/handlers.ts'
import { openCommon, type ProcessNeeds } from '../composition/shared-resources.ts'
import type { LoadedTenants } from '../settings/tenants.ts'
import { publicUrl } from '../tenancy/addressing.ts'
import { serveOne } from './serve-one.ts'
import { serveTenants } from './serve-tenants.ts'

export interface Service {
  readonly port: number
  readonly publicUrl: string
  /** Takes up changed settings of tenants; those of the service itself stay as they are. */
  reload(tenants: LoadedTenants): LoadedTenants
  /** Finishes what runs and closes the stores, within 10 s. */
  stop(): Promise<void>
}

interface Needs extends ProcessNeeds {
  /** In tests: a refusal that its endpoint does not list is a fault. */
  readonly strict?: boolean
}

const graceSeconds = { requests: 6, deliveries: 2 }

export async function startService(needs: Needs): Promise<Service> {
  const { settings, tenants = null, log, failed, strict = false } = needs
  if (settings.try.enabled && !hasTryPage) log.warn('/try is not served: the folder examples/browser is missing')
  const common = openCommon({ ...needs, isOneOfMany: tenants !== null })
  let port = settings.http.port
  const parts = { common, settings, strict, failed, portOf: () => port }
  const served = tenants === null ? await serveOne(parts) : await serveTenants({ ...parts, tenants })

  const isTls = settings.http.publicUrl?.startsWith('https:') ?? false
  const koa = app({ handle: served.handle, log, isTls, logRequests: settings.logs.requests })
  const server = httpServer(koa.callback(), {
    isTls,
    maxConnections: settings.http.maxConnections,
    writeTimeoutSeconds: settings.http.writeTimeoutSeconds,
    notAccepted: (err) => log.error({ err }, 'a connection was not accepted'),
  })
  try {
    await served.prepare()
    port = await server.listen(settings.http.host, settings.http.port)
  } catch (thrown) {
    await served.close(0)
    throw thrown
  }
  const delivers = settings.events.relay === 'on'
  if (delivers) {
    warnOfNoHandlers(log, needs)
    served.startDeliveries()
  }

  return {
    port,
    publicUrl: publicUrl(settings, port),
    reload(changed) {
      if (delivers) warnOfNoHandlers(log, { settings, tenants: changed })
      served.reload(changed)
      return changed
    },
    async stop() {
      await Promise.all([server.close(graceSeconds.requests), served.stopDeliveries(graceSeconds.deliveries)])
      await served.close(graceSeconds.deliveries)
    },
  }
}
