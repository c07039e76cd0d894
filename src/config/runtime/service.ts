import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { newToken } from '../../adapters/crypto/derived-keys.ts'
import { keptKey } from '../../adapters/crypto/secret-file.ts'
import { ofOwnOrigin } from '../../adapters/http/admin/of-own-origin.ts'
import { problemPage } from '../../adapters/http/pages/account/problem-page.ts'
import { mailboxPath } from '../../adapters/http/pages/mailbox-page.ts'
import { hasTryPage } from '../../adapters/http/pages/try-page.ts'
import { clientAddresses } from '../../adapters/http/pipeline/client-address.ts'
import { serve, type TenantHttp } from '../../adapters/http/pipeline/serve.ts'
import { app } from '../../adapters/http/server/app.ts'
import { httpServer } from '../../adapters/http/server/http-server.ts'
import { orClose } from '../../lib/closing.ts'
import { isLoopback } from '../../lib/loopback.ts'
import { urlHost } from '../../lib/url-host.ts'
import { warnOfNoHandlers } from '../composition/handlers.ts'
import { processRoutes, tenantHttp } from '../composition/http.ts'
import { loadedCode } from '../composition/routers.ts'
import { openSharedResources, type ProcessNeeds, type RunningProcess } from '../composition/shared-resources.ts'
import { openTenant, type Tenant } from '../composition/tenant.ts'
import { publicUrl, publicUrlOf, type TenantSettings } from '../settings/tenants.ts'
import { openTenants } from '../tenancy/open-tenants.ts'
import { routingOf } from '../tenancy/routing.ts'
import { exposeMetrics, metricsOf } from './metrics.ts'

/** Its `stop` also finishes running requests, within 10 s. */
export interface Service extends RunningProcess {
  readonly port: number
  readonly publicUrl: string
  /** The enabled tenants of the start. Without tenants, it is `default` alone. */
  readonly addresses: readonly TenantAddress[]
}

interface TenantAddress {
  readonly id: string
  readonly publicUrl: string
  /** The address of the mailbox with its key; `null` where messages are sent. */
  readonly mailboxUrl: string | null
}

interface Needs extends ProcessNeeds {
  /** For tests: resolves when a stopping service closes its idle connections. */
  readonly drained?: () => Promise<unknown>
}

interface ServedTenant extends Tenant {
  readonly http: TenantHttp
}

const graceSeconds = { requests: 6, deliveries: 2 }

export async function startService(needs: Needs): Promise<Service> {
  const { settings, log, failed, drained = () => delay(500) } = needs
  if (settings.try.enabled && !hasTryPage) log.warn('/try is not served: the folder examples/browser is missing')
  const metrics = await metricsOf(settings)
  const shared = openSharedResources({ ...needs, metrics })
  let { tenants: current } = needs
  const isTls = settings.http.publicUrl?.startsWith('https:') ?? false
  const newServer = () =>
    httpServer({
      isTls,
      maxConnections: settings.http.maxConnections,
      writeTimeoutSeconds: settings.http.writeTimeoutSeconds,
      clientOf: clientAddresses(settings.http.trustedProxies),
      notAccepted: (err) => log.error({ err }, 'a connection was not accepted'),
    })
  const server = newServer()
  // The addresses of a tenant contain the port, and the system may choose it.
  const port = await server.listen(settings.http.host, settings.http.port)
  const { admin } = settings
  const adminServer = admin.port === undefined ? null : newServer()
  const adminPort = adminServer && (await orClose(listenForAdmin(adminServer), () => server.close(0)))
  if (adminPort !== null)
    log.info(
      { url: `http://${isLoopback(admin.host) ? 'localhost' : urlHost(admin.host)}:${adminPort}/admin` },
      'the console is served',
    )
  const showsMailbox = [...current.enabled.values()].some(({ settings: { mail } }) => mail.url === 'mailbox:')
  /** If it fails, the error gets `listener: 'admin'`. */
  function listenForAdmin(own: ReturnType<typeof newServer>): Promise<number> {
    return own.listen(admin.host, admin.port ?? 0).catch((error: Error) => {
      throw Object.assign(error, { listener: 'admin' })
    })
  }

  const closeServers = () => Promise.all([server.close(0), adminServer?.close(0)])
  const mailboxKey = showsMailbox
    ? await orClose(keptKey(join(settings.dataFolder, 'mailbox-key')), closeServers)
    : newToken()
  const counts = settings.tenants.by === undefined ? null : () => tenants.counts()
  const tenants = openTenants<ServedTenant>({ ...shared, settings, tenants: current, open, failed })

  async function open(own: TenantSettings, failed: (fault: unknown) => void): Promise<ServedTenant> {
    const publicUrl = publicUrlOf(own, settings, port)
    const code = await loadedCode(own.settings)
    const tenant = await openTenant({ ...shared, ...own, publicUrl, showsMailbox: true, failed })
    return { ...tenant, http: tenantHttp(tenant, { publicUrl, mailboxKey, code, adminPort, counts }) }
  }

  let hideMetrics = async (): Promise<void> => undefined
  try {
    hideMetrics = await exposeMetrics({ settings, shared, tenants, sharedFigures: needs.sharedFigures })
    await tenants.prepare()
  } catch (thrown) {
    await Promise.all([closeServers(), tenants.close(0), hideMetrics()])
    throw thrown
  }
  const koa = app({
    serve: serve({
      tenants,
      routing: routingOf(settings, () => current, log),
      processRoutes: await processRoutes(settings, tenants),
    }),
    log,
    isTls,
    logRequests: settings.logs.requests,
    problemPage: problemPage(null),
    ...(metrics && { answered: metrics.requestAnswered }),
  })
  server.serve(koa.callback())
  adminServer?.serve(ofOwnOrigin(koa.callback()))
  const delivers = settings.events.relay === 'on'
  if (delivers) {
    warnOfNoHandlers(log, current)
    tenants.startDeliveries()
  }

  return {
    port,
    publicUrl: publicUrl(settings, port),
    addresses: [...current.enabled.values()].map((tenant) => {
      const url = publicUrlOf(tenant, settings, port)
      const hasMailbox = tenant.settings.mail.url === 'mailbox:'
      return { id: tenant.id, publicUrl: url, mailboxUrl: hasMailbox ? `${url}${mailboxPath}?key=${mailboxKey}` : null }
    }),
    async reload(changed) {
      await tenants.replace(changed)
      current = changed
      if (delivers) warnOfNoHandlers(log, changed)
      return changed
    },
    async stop() {
      const isDrained = drained()
      await Promise.all([
        server.close(graceSeconds.requests, isDrained),
        adminServer?.close(graceSeconds.requests, isDrained),
      ])
      await tenants.close(graceSeconds.deliveries)
      await hideMetrics()
    },
  }
}
