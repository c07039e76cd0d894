import { newToken } from '../../adapters/crypto/derived-keys.ts'
import { functionHandlers, type Handlers } from '../../adapters/events/function-handlers.ts'
import { misnamedHandlers } from '../../adapters/events/handler-names.ts'
import { createLog, type Logger } from '../../adapters/logging/log.ts'
import { printLine } from '../../adapters/logging/print-line.ts'
import { type CheckedAccounts, checkedAccounts } from '../../application/checked-accounts.ts'
import type { OAuthProvider } from '../../application/ports/oauth-provider.ts'
import type { Backend } from '../../application/sign-in/authenticate.ts'
import { openSharedResources } from '../composition/shared-resources.ts'
import { openTenant, type Tenant } from '../composition/tenant.ts'
import { settingsOf } from '../settings/load.ts'
import type { Settings } from '../settings/schema/schema.ts'
import type { Environment } from '../settings/sources/environment.ts'
import { defaultTenant, type LoadedTenants } from '../settings/tenants.ts'
import type { TenantDirectory } from '../tenancy/directory.ts'
import { openTenants } from '../tenancy/open-tenants.ts'

/** The use cases of one tenant. */
export interface Accounts extends CheckedAccounts {
  /** How credentials are issued and read, by the names in the settings, in order of declaration. */
  readonly backends: ReadonlyMap<string, Backend>
  /** Providers by the names in the settings, in order of declaration. */
  readonly providers: ReadonlyMap<string, OAuthProvider>
}

export interface PortcullisOptions {
  /** In place of `handlers.module`: functions of this process, which nothing protects it from. */
  readonly handlers?: Handlers
  /** Variables as the service reads them, which win over the settings; none unless given. */
  readonly env?: Environment
  /** Where relative paths start; the folder the process was started in. */
  readonly cwd?: string
  /**
   * Whether this process delivers events and sweeps what has expired. Unless given, it does where `events.relay` of the
   * settings is on, but leaves events to others where it was not told whom to tell: it has no `handlers`, no module and no
   * console. `handlers: {}` is to tell nobody: the events are done with. What users in memory cause is out of everybody else's reach, and delivered in any case.
   */
  readonly delivers?: boolean
  /** A store that came up late must not be used as it is set up. Unless given, it is thrown where nobody catches it. */
  readonly failed?: (fault: unknown) => void
}

/** Portcullis within a program. */
export interface Portcullis {
  /** The use cases of the only tenant. Throws a `RangeError` where there are several: `withTenant` names one. */
  readonly accounts: Accounts
  /**
   * Does `work` with a tenant, which is opened when it is not, and not closed meanwhile. Rejects with a `RangeError` when
   * there is no such tenant, with `Unavailable` when it is disabled or cannot be opened.
   */
  withTenant<R>(id: string, work: (accounts: Accounts) => Promise<R>): Promise<R>
  /** Lets deliveries in hand end and closes the stores; what is asked for afterwards rejects with `Unavailable`. */
  close(): Promise<void>
}

const graceSeconds = 8

/** `openPortcullis` of the package, without its lazy import. */
export async function openPortcullis(given: object = {}, options: PortcullisOptions = {}): Promise<Portcullis> {
  const { env = {}, cwd = process.cwd(), failed = thrown } = options
  const handlers = options.handlers ?? undefined
  // A program's standard output is its own, unless it asks for our events there.
  const { settings, tenants, warnings } = await settingsOf({ path: null, value: given }, { env, cwd, listens: false })
  const log = createLog(settings.logs)
  for (const warning of warnings) log.warn(warning)
  for (const name of misnamedHandlers(handlers ?? {})) {
    log.warn({ handler: name }, 'the handlers have something that is no handler')
  }
  const shared = openSharedResources({
    settings,
    log,
    write: printLine,
    eventHandlers: handlers && functionHandlers(handlers),
  })
  const delivers = options.delivers ?? settings.events.relay === 'on'
  const leavesEvents = (of: Settings): boolean =>
    options.delivers === undefined && handlers === undefined && !tellsSomebody(of)
  if (delivers && [...tenants.enabled.values()].some((one) => leavesEvents(one.settings))) {
    log.info('without handlers events are left to a service or a worker')
  }
  const directory = openTenants({
    ...shared,
    settings,
    tenants,
    failed,
    open: ({ id, settings: given }, failed) => {
      const settings = withSecret(given)
      return openTenant({ ...shared, id, settings, leavesEvents: leavesEvents(settings), failed })
    },
  })
  await directory.prepare()
  if (delivers) directory.startDeliveries()
  // The only tenant stays open until `close`.
  const only = settings.tenants.by === undefined ? await directory.inspect(defaultTenant, async (one) => one) : null
  const accounts = only && accountsOf(only)
  const portcullis: Portcullis = {
    get accounts(): Accounts {
      if (accounts === null) throw new RangeError('there are several tenants: use withTenant')
      return accounts
    },
    async withTenant(id, work) {
      if (!directory.knows(id)) throw new RangeError('there is no such tenant')
      return directory.use(id, (tenant) => work(accountsOf(tenant)))
    },
    close: () => directory.close(graceSeconds),
  }
  internals.set(portcullis, { settings, tenants, log, directory })
  return portcullis
}

/** What stands behind an open `Portcullis`, for our own entries alone. */
export interface Internals {
  readonly settings: Settings
  readonly tenants: LoadedTenants
  readonly log: Logger
  readonly directory: TenantDirectory<Tenant>
}

const internals = new WeakMap<Portcullis, Internals>()

export function internalsOf(portcullis: Portcullis): Internals {
  const found = internals.get(portcullis)
  if (found === undefined) throw new TypeError('this is not what openPortcullis of the same package resolved to')
  return found
}

/** The keys of users in memory are worth nothing after the process, so a program writes no file for them. */
function withSecret(settings: Settings): Settings {
  if (settings.secret !== null || settings.stores.users.kind !== 'memory') return settings
  return { ...settings, secret: newToken() }
}

/** Or what a service is to tell would be told to nobody, by a program beside it that has no handlers. */
function tellsSomebody({ handlers: { module, console }, stores }: Settings): boolean {
  return module !== null || console || stores.users.kind === 'memory'
}

function accountsOf(tenant: Tenant): Accounts {
  return {
    ...checkedAccounts(tenant.useCases),
    backends: new Map(tenant.backends.map((backend) => [backend.name, backend])),
    get providers() {
      return tenant.providers
    },
  }
}

function thrown(fault: unknown): void {
  throw fault
}
