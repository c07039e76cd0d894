import Type, { type TProperties } from 'typebox'
import { memoryBackend } from '../../adapters/stores/memory/memory.ts'
import { mongoBackend } from '../../adapters/stores/mongo/mongo.ts'
import { ownBackend } from '../../adapters/stores/own-store.ts'
import { postgresBackend } from '../../adapters/stores/postgres/postgres.ts'
import { redisBackend } from '../../adapters/stores/redis/redis.ts'
import { sqliteBackend } from '../../adapters/stores/sqlite/sqlite.ts'
import { addressObjection } from '../../adapters/stores/store-address.ts'
import { type StoreBackend, type StoreRole, storeRoles, Unsuitable } from '../../adapters/stores/store-backend.ts'

/** A store in the settings: a kind with its options. */
export interface StorePlugin extends StoreBackend {
  /** The options in each role. Each is optional, because a role of the same kind inherits those of the users. */
  readonly options: (role: StoreRole) => TProperties
}

const cacheMegabytes = Type.Optional(
  Type.Integer({
    minimum: 1,
    maximum: 65_536,
    otherwise: '256; half a megabyte for each of several tenants',
    description:
      'Limit of the memory in which a process keeps parts of the file. The process takes it as it reads the file.',
  }),
)

const prefix = Type.Optional(
  Type.String({
    pattern: '^[A-Za-z0-9._:-]{1,64}$',
    expects: 'letters, digits, . _ : and -, at most 64',
    otherwise: '`portcullis:`; `portcullis:<tenant>:` for a tenant that inherits the address',
    description: 'Prefix of every key. Deployments that share a Redis server need different prefixes.',
  }),
)

const schema = Type.Optional(
  Type.String({
    pattern: '^[a-z_][a-z0-9_]{0,29}$', // with _ and a tenant's name, which has at most 32 characters: 63
    expects: 'lower-case letters, digits and _, at most 30',
    otherwise: '`portcullis`; `portcullis_<tenant>` for a tenant that inherits the address',
    description: 'Schema of the tables. The service creates it.',
  }),
)

const ownUrl = Type.Optional(
  Type.String({
    secret: 'address',
    expects: 'an address',
    otherwise: 'none',
    description: 'Address that the module gets.',
  }),
)

/** @param otherwise the address, if none is given */
const url = (example: string, otherwise: string) =>
  Type.Optional(
    Type.String({
      secret: 'address',
      expects: `an address such as ${example}`,
      otherwise,
      description: `Address of the server, such as \`${example}\`.`,
    }),
  )

const directUrl = Type.Optional(
  Type.String({
    secret: 'address',
    expects: 'an address such as postgres://host/name',
    otherwise: 'none',
    description:
      'Address of the server itself, beside that of a pooler: then events of other processes need not wait for the next poll.',
  }),
)

const module = (role: StoreRole) =>
  Type.Optional(
    Type.String({
      minLength: 1,
      expects: 'the path of a module',
      otherwise:
        role === 'users' ? 'required' : 'the module of the users, if their kind is the same; otherwise required',
      description: 'Module of a store of your own. Its default export is the store, or a function that opens it.',
    }),
  )

const ofUsers = (role: StoreRole): string =>
  role === 'users' ? 'required' : 'the address of the users, if their kind is the same; otherwise required'

/** Every kind of store. A driver is loaded when a store of its kind is opened. */
export const stores: readonly StorePlugin[] = [
  { ...memoryBackend, options: () => ({}) },
  { ...sqliteBackend, options: (role) => (role === 'users' ? { cacheMegabytes } : {}) },
  { ...mongoBackend, options: (role) => ({ url: url('mongodb://host/name', ofUsers(role)) }) },
  {
    ...postgresBackend,
    options: (role) => ({
      url: url('postgres://host/name', ofUsers(role)),
      ...(role === 'users' ? { directUrl } : {}),
      schema,
    }),
  },
  { ...redisBackend, options: () => ({ url: url('redis://host', 'required'), prefix }) },
  { ...ownBackend, options: (role) => ({ module: module(role), url: ownUrl }) },
]

export function pluginOf(kind: string): StorePlugin {
  const plugin = stores.find((one) => one.kind === kind)
  if (plugin === undefined) throw new Unsuitable(`there is no store of the kind ${kind}`)
  return plugin
}

/** The kind of a store and its options. */
export interface StoreSettings {
  readonly kind: string
  /** The address of a store on a server. */
  readonly url?: string
  readonly [option: string]: unknown
}

/** The options of a store, and the folder of a store that lives in it. */
export function placed(store: StoreSettings, dataFolder: string): StoreSettings {
  return { ...store, dataFolder }
}

/** The fault of a store, worded to follow the name of its option; `null` without one. */
export function objectionToStore(store: StoreSettings): { readonly option: string; readonly message: string } | null {
  if (store.kind === ownBackend.kind) {
    return store.module === undefined ? { option: 'module', message: 'is required: the path of a module' } : null
  }
  const plugin = pluginOf(store.kind)
  const message = addressObjection(plugin, store.url)
  if (message !== null) return { option: 'url', message }
  const { directUrl } = store
  const ofDirect = typeof directUrl === 'string' ? addressObjection(plugin, directUrl) : null
  return ofDirect === null ? null : { option: 'directUrl', message: ofDirect }
}

/** The options of a role. A role of the kind of the users inherits theirs, unless it has an address or a module of its own. */
export function completeStore(store: Partial<StoreSettings>, users: StoreSettings): StoreSettings {
  const kind = store.kind ?? users.kind
  const isElsewhere = kind !== users.kind || store.url !== undefined || store.module !== undefined
  return isElsewhere ? { ...store, kind } : { ...users, ...store, kind }
}

/** Roles with the same kind and options share one store. */
export function distinctStores(byRole: Readonly<Record<StoreRole, StoreSettings>>) {
  const found: { readonly store: StoreSettings; readonly roles: StoreRole[] }[] = []
  for (const role of storeRoles) {
    const known = found.find(({ store }) => isSame(store, byRole[role]))
    if (known === undefined) found.push({ store: byRole[role], roles: [role] })
    else known.roles.push(role)
  }
  return found
}

/** Compares the values themselves, because a program passes stores as objects. */
function isSame(one: StoreSettings, other: StoreSettings): boolean {
  return Object.keys({ ...one, ...other }).every((option) => one[option] === other[option])
}

/** The store in messages: the path of its module, or its kind. */
export function nameOf({ kind, module }: StoreSettings): string {
  return typeof module === 'string' ? module : module === undefined ? kind : 'the store of the program'
}

/** Adds the settings of the roles to the message of `Unsuitable`, because a store does not know its roles. */
export async function namingRoles<T>(roles: readonly StoreRole[], work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (thrown) {
    if (!(thrown instanceof Unsuitable)) throw thrown
    const settings = roles.map((role) => `stores.${role}`).join(', ')
    throw new Unsuitable(`${settings}: ${thrown.message}`, { cause: thrown.cause })
  }
}
