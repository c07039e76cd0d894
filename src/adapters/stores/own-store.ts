import { pathToFileURL } from 'node:url'
import { Unavailable } from '../../domain/refusal.ts'
import { orClose } from '../../lib/closing.ts'
import { answering } from './answering.ts'
import {
  type OpenOptions,
  type StoreBackend,
  type StoreHandle,
  type StoreLifecycle,
  Unsuitable,
} from './store-backend.ts'
import { portNames, type StorePorts, storePorts } from './store-ports.ts'

/** A store of your own: the ports that it offers, and `prepare`, `ping` and `close` if it needs them. */
export interface OwnStore extends StorePorts, Partial<StoreLifecycle> {}

export interface OwnStoreOptions {
  /** `default` if there are no tenants. */
  readonly tenant: string
  readonly dataFolder: string
  /** The setting `stores.<role>.url`. */
  readonly url?: string
  readonly clock: () => Date
  /** Tells the operator something in one line, without secrets. */
  readonly warn: (message: string) => void
}

/** Opens the store of one tenant. It connects in `prepare`, since `portcullis config check` calls it, too. */
export type OpenOwnStore = (options: OwnStoreOptions) => OwnStore | Promise<OwnStore>

interface Own {
  readonly dataFolder: string
  readonly url?: string
  /** The path of a module whose default export is the store or opens it; or that store of a program. */
  readonly module: string | OwnStore | OpenOwnStore
}

/** A store that a module or a program brings. */
export const ownBackend = {
  kind: 'module',
  roles: ['users', 'sessions', 'tokens'],
  protocols: [],
  backupProgram: 'the tools of this store',

  async open(options) {
    const { module, url = '', tenant = 'default', shares } = options
    if (typeof module !== 'string' || shares === undefined) return openOwn(options)
    // A reload opens a tenant again before it closes the former opening.
    const { value, release } = shares.lease(
      `module ${JSON.stringify([module, url, tenant])}`,
      async () => preparedOnce(await openOwn(options)),
      async (opening) => (await opening).close(),
    )
    const handle = await orClose(value, () => release().catch(() => undefined))
    return { ...handle, close: release }
  },
} as const satisfies StoreBackend<Own>

/** A reload prepares the same opening again. */
function preparedOnce(handle: StoreHandle): StoreHandle {
  let isPrepared = false
  return {
    ...handle,
    async prepare() {
      if (isPrepared) return
      await handle.prepare()
      isPrepared = true
    },
  }
}

/** As long as a pool of tenants waits for an opening. */
const prepareMs = 10_000

async function openOwn({ module, tenant = 'default', ...options }: OpenOptions & Own): Promise<StoreHandle> {
  const name = typeof module === 'string' ? module : 'the store of the program'
  const given = typeof module === 'string' ? await loaded(module) : module
  if (typeof given !== 'function') {
    if (options.isOneOfMany) throw new Unsuitable(`${name} must be a function that opens the store of one tenant`)
    return handleOf(name, given)
  }
  const { dataFolder, url, clock, warn } = options
  const own = { tenant, dataFolder, clock, warn, ...(url !== undefined && { url }) }
  return handleOf(name, await explained(`${name} does not open`, async () => given(own)))
}

async function loaded(path: string): Promise<unknown> {
  const module: object = await explained(`${path} cannot be loaded`, () => import(pathToFileURL(path).href))
  if ('default' in module) return module.default
  throw new Unsuitable(`${path} has no default export: export the store, or a function that opens it`)
}

/** The handle of a store, which may be an object of a class. */
function handleOf(name: string, given: unknown): StoreHandle {
  if (typeof given !== 'object' || given === null) throw new Unsuitable(`${name} is not an object of ports`)
  const store: OwnStore = given
  const offered = portNames.filter((port) => store[port] !== undefined)
  if (offered.length === 0) throw new Unsuitable(`${name} has none of the ports ${portNames.join(', ')}`)
  for (const port of offered) {
    const missing = Object.keys(storePorts[port].methods).filter((method) => !hasMethod(store[port], method))
    if (missing.length > 0) throw new Unsuitable(`${name}: its port ${port} has no method ${missing.join(', ')}`)
  }
  return {
    ...Object.fromEntries(offered.map((port) => [port, store[port]])),
    prepare: answering(
      `${name} was not prepared in time: its prepare() did not settle`,
      () => explained(`${name} cannot be prepared`, async () => store.prepare?.(), { mayRetry: true }),
      prepareMs,
    ),
    ping: async () => store.ping?.(),
    close: async () => store.close?.(),
  }
}

function hasMethod(port: unknown, name: string): boolean {
  return typeof port === 'object' && port !== null && name in port && typeof Reflect.get(port, name) === 'function'
}

/** Turns an error into `Unsuitable`, because no retry helps. */
async function explained<T>(what: string, work: () => Promise<T>, { mayRetry = false } = {}): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    if (mayRetry && cause instanceof Unavailable) throw cause
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new Unsuitable(cause instanceof Unsuitable ? reason : `${what}: ${reason}`, { cause })
  }
}
