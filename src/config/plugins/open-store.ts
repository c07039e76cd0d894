import { memoryBackend } from '../../adapters/stores/memory/memory.ts'
import { mongoBackend } from '../../adapters/stores/mongo/mongo.ts'
import { postgresBackend } from '../../adapters/stores/postgres/postgres.ts'
import { redisBackend } from '../../adapters/stores/redis/redis.ts'
import { sqliteBackend } from '../../adapters/stores/sqlite/sqlite.ts'
import {
  keepIds,
  type OpenOptions,
  type StoreBackend,
  type StoreLifecycle,
} from '../../adapters/stores/store-backend.ts'
import type { StorePorts } from '../../adapters/stores/store-ports.ts'
import { orClose } from '../../lib/closing.ts'

/** The stores that programs open by themselves. They are listed apart from their settings, which need the schema library. */
const backends = [memoryBackend, sqliteBackend, mongoBackend, postgresBackend, redisBackend] as const

type Backend = (typeof backends)[number]
/** `memory`, `sqlite`, `mongo`, `postgres` or `redis`. */
export type StoreKind = Backend['kind']
type BackendOf<Kind extends StoreKind> = Extract<Backend, { readonly kind: Kind }>
type OwnOf<Kind extends StoreKind> = Omit<Parameters<BackendOf<Kind>['open']>[0], keyof OpenOptions>

/**
 * A kind of store with its options. `dataFolder` of SQLite holds `portcullis.sqlite`; `url` of MongoDB and PostgreSQL names a database:
 * `mongodb://host/name`. Every key of Redis begins with `prefix`.
 */
export type StoreAddress<Kind extends StoreKind = StoreKind> = Kind extends StoreKind
  ? { readonly kind: Kind } & OwnOf<Kind>
  : never

/** An opened store of this kind, with the ports that it offers. */
export type OpenStoreOf<Kind extends StoreKind> = Omit<Awaited<ReturnType<BackendOf<Kind>['open']>>, 'prepare'>

/** An opened store with every port. */
export type OpenStore = Required<StorePorts> & Omit<StoreLifecycle, 'prepare'>

export interface OpenStoreOptions {
  /** The kind of the users' ids, which a new store keeps. Throws `Unsuitable` for a store with another kind. */
  readonly ids?: OpenOptions['ids']
  readonly clock?: () => Date
  /** Receives warnings for the operator; by default `process.emitWarning`. */
  readonly warn?: (message: string) => void
}

/**
 * Loads the driver, opens the store and resolves when the store is ready for use. Throws `Unavailable` when the store
 * does not answer, so the caller may retry, and `Unsuitable` when its setup is wrong.
 */
export async function openStore<const Kind extends StoreKind>(
  { kind, ...own }: StoreAddress<Kind>,
  { ids, clock = () => new Date(), warn = (message) => process.emitWarning(message) }: OpenStoreOptions = {},
): Promise<OpenStoreOf<Kind>> {
  const backend: StoreBackend | undefined = backends.find((one) => one.kind === kind)
  if (backend === undefined) throw new TypeError(`there is no store of the kind ${kind}`)
  const handle = await backend.open({ ...own, ids, clock, warn })
  const { userIds } = handle
  const kept = ids && userIds ? () => keepIds({ userIds }, ids) : undefined
  await orClose(handle.prepare().then(kept), () => handle.close())
  return handle as OpenStoreOf<Kind> & typeof handle // safe: the backend of this kind has opened it
}
