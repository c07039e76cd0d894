import { newToken } from '../../adapters/crypto/derived-keys.ts'
import { functionHandlers } from '../../adapters/events/function-handlers.ts'
import { type Handlers, meantHandler, misnamedHandlers, questionNames } from '../../adapters/events/handlers.ts'
import { type CheckedAccounts, checkedAccounts } from '../../adapters/http/checked-accounts.ts'
import { type CheckedAdmin, checkedAdmin } from '../../adapters/http/checked-admin.ts'
import { createLog, type Logger } from '../../adapters/logging/log.ts'
import { printLine } from '../../adapters/logging/print-line.ts'
import { type OpenOwnStore, type OwnStore, ownBackend } from '../../adapters/stores/own-store.ts'
import { neededPorts, type StoreRole, storeRoles } from '../../adapters/stores/store-backend.ts'
import { type TenantDirectory, whileReady } from '../../adapters/tenants/directory.ts'
import type { Limits } from '../../application/limits/limits.ts'
import type { DeviceTokens } from '../../application/ports/device-tokens.ts'
import type { OAuthProvider } from '../../application/ports/oauth-provider.ts'
import type { Backend } from '../../application/sign-in/authenticate.ts'
import { warnOfNoHandlers } from '../composition/handlers.ts'
import { openSharedResources } from '../composition/shared-resources.ts'
import { openTenant, type Tenant } from '../composition/tenant.ts'
import { settingsOf } from '../settings/load.ts'
import { settingsFault } from '../settings/schema/fault.ts'
import type { Settings } from '../settings/schema/schema.ts'
import type { Environment } from '../settings/sources/environment.ts'
import { defaultTenant, type LoadedTenants, publicUrlOf } from '../settings/tenants.ts'
import { openTenants } from '../tenancy/open-tenants.ts'

/** The use cases of one tenant. */
export interface Accounts extends CheckedAccounts {
  /** Backends by their names in the settings, in order of declaration. */
  readonly backends: ReadonlyMap<string, Backend>
  /** Providers by their names in the settings, in order of declaration. */
  readonly providers: ReadonlyMap<string, OAuthProvider>
  /** The limits of requests, for routes of your own. The use cases apply those of passwords and tokens themselves. */
  readonly limits: Pick<Limits, 'request'>
  readonly deviceTokens: DeviceTokens
}

export interface PortcullisOptions {
  /** Replaces `handlers.module`. These functions run in this process, so a fault in one of them can end it. */
  readonly handlers?: Handlers
  /** Replaces the stores of these roles in the settings. With tenants, each is a function that opens the store of one tenant. */
  readonly stores?: { readonly [Role in StoreRole]?: OwnStore | OpenOwnStore }
  /** Environment variables as the service reads them. They take precedence over the settings. Default: none. */
  readonly env?: Environment
  /** The folder where relative paths start. Default: the current folder. */
  readonly cwd?: string
  /**
   * Whether this process delivers events and sweeps expired records. The default follows `events.relay`, but a process
   * without mail, handlers, module and console leaves events to others, unless its users are in memory.
   * With `handlers: {}`, events are consumed without a handler.
   */
  readonly delivers?: boolean
  /** Called when a store that was down at the start turns out to be unsuitable. Default: an uncaught exception. */
  readonly failed?: (fault: unknown) => void
}

/** Portcullis within a program. */
export interface Portcullis {
  /** The use cases of the only tenant. Throws a `RangeError` if there are several; use `withTenant`. */
  readonly accounts: Accounts
  /** The acts of those who manage the users of the only tenant. Throws as `accounts`. */
  readonly admin: CheckedAdmin
  /**
   * Opens the tenant if necessary, keeps it open and does `work`. Rejects with a `RangeError` if the tenant does not
   * exist, and with `Unavailable` if it is disabled or cannot be opened.
   */
  withTenant<R>(id: string, work: (accounts: Accounts, admin: CheckedAdmin) => Promise<R>): Promise<R>
  /** Ends running deliveries and closes the stores. Later calls reject with `Unavailable`. */
  close(): Promise<void>
}

const graceSeconds = 8
const questions: ReadonlySet<string> = new Set(questionNames)

/** `openPortcullis` of the package, without its lazy import. */
export async function openPortcullis(given: object = {}, options: PortcullisOptions = {}): Promise<Portcullis> {
  const { env = {}, cwd = process.cwd(), failed = thrown } = options
  const unknown = Object.keys(options.stores ?? {}).find((role) => !Object.hasOwn(neededPorts, role))
  if (unknown !== undefined) throw settingsFault(`stores.${unknown}`, `no such role: ${storeRoles.join(', ')}`)
  const handlers = options.handlers ?? undefined
  // Events appear on the standard output of the program only if a setting says so.
  const { settings, tenants, warnings } = await settingsOf({ path: null, value: given }, { env, cwd, listens: false })
  const log = createLog(settings.logs)
  for (const warning of warnings) log.warn(warning)
  for (const name of misnamedHandlers(handlers ?? {})) {
    log.warn({ handler: name, ...meantHandler(name) }, 'the handlers contain a name that is not a handler')
  }
  const eventHandlers = handlers && functionHandlers(handlers)
  const shared = openSharedResources({ settings, log, write: printLine, metrics: null, eventHandlers })
  const delivers = options.delivers ?? settings.events.relay === 'on'
  const leavesEvents = (of: Settings): boolean =>
    options.delivers === undefined && handlers === undefined && !reachesHandler(of)
  if (delivers && [...tenants.enabled.values()].some((one) => leavesEvents(one.settings))) {
    log.info('there are no handlers: a service or a worker has to deliver the events')
  }
  if (!delivers && Object.keys(handlers ?? {}).some((name) => !questions.has(name))) {
    log.warn('the handlers of events are not called: pass delivers: true if no other process delivers them')
  }
  if (options.delivers === true && handlers === undefined) warnOfNoHandlers(log, tenants)
  const directory = openTenants({
    ...shared,
    settings,
    tenants,
    failed,
    open: (own, failed) => {
      const given = withSecret(withStores(own.settings, options.stores))
      const publicUrl = publicUrlOf(own, settings, settings.http.port)
      return openTenant({ ...shared, ...own, settings: given, publicUrl, leavesEvents: leavesEvents(given), failed })
    },
  })
  await directory.prepare()
  if (delivers) directory.startDeliveries()
  // The only tenant stays open until `close`.
  const only = settings.tenants.by === undefined ? await directory.inspect(defaultTenant, async (one) => one) : null
  const accounts = only && accountsOf(only)
  const admin = only && adminOf(only)
  const several = () => new RangeError('there are several tenants: use withTenant')
  const portcullis: Portcullis = {
    get accounts(): Accounts {
      if (accounts === null) throw several()
      return accounts
    },
    get admin(): CheckedAdmin {
      if (admin === null) throw several()
      return admin
    },
    async withTenant(id, work) {
      if (!directory.knows(id)) throw new RangeError(`there is no tenant ${id}`)
      return directory.use(id, (tenant) => work(accountsOf(tenant), adminOf(tenant)))
    },
    close: () => directory.close(graceSeconds),
  }
  internals.set(portcullis, { settings, tenants, log, directory })
  return portcullis
}

/** The internals of an open `Portcullis`, for the Koa host. */
interface Internals {
  readonly settings: Settings
  readonly tenants: LoadedTenants
  readonly log: Logger
  readonly directory: TenantDirectory<Tenant>
}

const internals = new WeakMap<Portcullis, Internals>()

export function internalsOf(portcullis: Portcullis): Internals {
  const found = internals.get(portcullis)
  if (found === undefined)
    throw new TypeError('the argument is not the object that openPortcullis of the same package resolved to')
  return found
}

function withStores(settings: Settings, own: PortcullisOptions['stores'] = {}): Settings {
  const given = Object.entries(own).flatMap(([role, module]) =>
    module === undefined ? [] : [[role, { kind: ownBackend.kind, module }] as const],
  )
  return { ...settings, stores: { ...settings.stores, ...Object.fromEntries(given) } }
}

/** Generates a secret for users in memory, whose keys end with the process, so that no file holds it. */
function withSecret(settings: Settings): Settings {
  if (settings.secret !== null || settings.stores.users.kind !== 'memory') return settings
  return { ...settings, secret: newToken() }
}

/** Whether events reach a handler. A program without handlers must not consume the events of a service beside it. */
function reachesHandler({ handlers: { module, console }, mail, stores }: Settings): boolean {
  return module !== null || console || mail.url !== 'off' || stores.users.kind === 'memory'
}

function accountsOf(tenant: Tenant): Accounts {
  return {
    ...whileReady(tenant, checkedAccounts(tenant.useCases)),
    backends: new Map(tenant.backends.map((backend) => [backend.name, backend])),
    providers: tenant.providers,
    limits: tenant.ports.limits,
    deviceTokens: tenant.ports.deviceTokens,
  }
}

function adminOf(tenant: Tenant): CheckedAdmin {
  return whileReady(tenant, checkedAdmin(tenant.useCases))
}

function thrown(fault: unknown): void {
  throw fault
}
