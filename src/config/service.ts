import { isCommonPassword } from '../adapters/crypto/common-passwords.ts'
import { newId } from '../adapters/crypto/ids.ts'
import { nodeSecrets, secretMark } from '../adapters/crypto/node-secrets.ts'
import { type RelayLoop, relayLoop } from '../adapters/events/relay-loop.ts'
import { type HttpBackend, ownOrigins } from '../adapters/http/access.ts'
import { app } from '../adapters/http/app.ts'
import { mount } from '../adapters/http/mount.ts'
import { openapi } from '../adapters/http/openapi.ts'
import { mountDocs, operationsRouter } from '../adapters/http/operations.ts'
import { mountTryPage } from '../adapters/http/try-page.ts'
import { openOutbound } from '../adapters/oauth/outbound.ts'
import { Authenticate } from '../application/authenticate.ts'
import { DeliverTokens } from '../application/deliver-tokens.ts'
import { RelayEvents } from '../application/relay-events.ts'
import { Sweep } from '../application/sweep.ts'
import { backendsOf } from './backends.ts'
import { openHandlers } from './handlers.ts'
import { openHasher, openHashPool } from './hasher.ts'
import type { Logger } from './log.ts'
import { oauthRoutersOf } from './oauth-routers.ts'
import { openStores } from './open-stores.ts'
import { mountedProviders } from './providers.ts'
import { publicUrl } from './public-url.ts'
import { routersOf } from './routers.ts'
import { resolveSecret } from './secret.ts'
import { httpServer } from './server.ts'
import type { Settings } from './settings.ts'
import { SettingsFault } from './settings-fault.ts'
import { tenantContainer } from './tenant.ts'
import { tryConfig } from './try-config.ts'
import { version } from './version.ts'

export interface Service {
  readonly port: number
  readonly publicUrl: string
  /** Finishes what runs and closes the stores, within 10 s. */
  stop(): Promise<void>
}

interface Needs {
  readonly settings: Settings
  readonly log: Logger
  /** Prints a line of `handlers.console`, which ends in a newline. */
  readonly write: (line: string) => void | Promise<void>
  /** Something came up after the start that the service cannot live with: it has to end. */
  readonly failed: (fault: unknown) => void
  readonly clock?: () => Date
  /** In tests: a refusal that its endpoint does not list is a fault. */
  readonly strict?: boolean
}

const tenant = 'default'
const pollSeconds = 1
/** Requests for tokens are looked at on a beat of their own, so that no answer's time depends on what they lead to. */
const tokenBeat = { pollSeconds: 0.25, jitter: 0.5 }
const hourMilliseconds = 3_600_000
const firstChoresMilliseconds = 200
const graceSeconds = { requests: 6, deliveries: 2 }

export async function startService(needs: Needs): Promise<Service> {
  const { settings, log, failed, clock = () => new Date(), strict = false } = needs

  const { secret, origin, path, warnings } = await resolveSecret(settings, { generate: true })
  for (const warning of warnings) log.warn(warning)
  if (origin === 'generated') log.info({ path }, 'generated a secret: keep this file with the data')

  const hasher = openHasher(settings, openHashPool(settings.passwords))
  const handlers = await openHandlers(settings.handlers, log, needs.write)
  const stores = await openStores({
    settings,
    clock,
    log,
    failed,
    async whenUsersAreThere(users) {
      if ((await users.checkSecret(secretMark(secret))) === 'other') {
        const message = 'is not the one this user store was started with'
        throw new SettingsFault([{ path: 'secret', message, source: 'default' }])
      }
      await hasher.prepare(await users.users.passwordSchemes())
    },
  })

  const secrets = nodeSecrets(secret)
  const loops: RelayLoop[] = []
  const { users, sessions, tokens, oauthStates } = stores
  const container = tenantContainer({
    tenant,
    settings,
    stores: { users, sessions, tokens, oauthStates },
    secrets,
    hasher,
    subscribers: handlers.subscribers,
    clock,
    report: (problem) => log.warn(problem, 'delivery failed'),
    wake: () => loops[0]?.wake(),
  })
  const backends = backendsOf(settings.backends, { sessions, secrets, tenant, clock, newId })
  const outbound = openOutbound()
  let url = ''
  const providers = mountedProviders(settings, { outbound, clock, publicUrl: () => url })
  const routers = [
    ...routersOf(settings, container, backends),
    ...oauthRoutersOf(settings, container, backends, providers),
    operationsRouter(stores.failing),
  ]
  const docs = openapi(routers, describedBackends(settings, backends), version)

  let origins: ReadonlySet<string> = new Set()
  const authenticate = container.get(Authenticate)
  const router = mount(routers, { authenticate, backends, ownOrigins: () => origins, strict })
  if (settings.docs.enabled) mountDocs(router, docs)
  if (settings.try.enabled) mountTryPage(router, () => ({ publicUrl: url, config: tryConfig(settings, url) }))
  const { allowedOrigins } = settings.http
  const isTls = settings.http.publicUrl?.startsWith('https:') ?? false
  const koa = app({ router, log, allowedOrigins, isTls, logRequests: settings.logs.requests })

  const server = httpServer(koa.callback())
  let port: number
  try {
    await stores.prepare()
    port = await server.listen(settings.http.host, settings.http.port)
  } catch (thrown) {
    await Promise.allSettled([stores.close(), handlers.close()])
    throw thrown
  }
  url = publicUrl(settings, port)
  origins = ownOrigins(url, allowedOrigins)

  const lane = {
    clock,
    failed: (err: unknown) => log.error({ err }, 'deliveries are stuck'),
    recovered: () => log.info('deliveries go on'),
  }
  loops.push(relayLoop({ ...lane, work: container.get(RelayEvents), pollSeconds }))
  loops.push(relayLoop({ ...lane, work: container.get(DeliverTokens), ...tokenBeat }))
  const chores = startChores()

  return {
    port,
    publicUrl: url,
    async stop() {
      clearInterval(chores)
      await Promise.all([
        server.close(graceSeconds.requests),
        ...loops.map((loop) => loop.stop(graceSeconds.deliveries)),
      ])
      await handlers.close()
      await stores.close()
    },
  }

  /** What nobody waits for: once soon after the start, and then every hour. */
  function startChores(): NodeJS.Timeout {
    const sweep = container.get(Sweep)
    const chores = async (): Promise<void> => {
      try {
        isCommonPassword('') // reads the list, so that nobody's registration has to
        await hasher.prepare(await users.users.passwordSchemes())
        await sweep.execute()
      } catch (err) {
        log.warn({ err }, 'sweeping failed')
      }
    }
    setTimeout(chores, firstChoresMilliseconds).unref()
    return setInterval(chores, hourMilliseconds)
  }
}

function describedBackends(settings: Settings, backends: readonly HttpBackend[]) {
  return backends.map((backend) => ({
    backend,
    loginPath: `${settings.backends[backend.name]?.prefix ?? `/auth/${backend.name}`}/login`,
  }))
}
