import { memoryBackend } from '../../adapters/stores/memory/memory.ts'
import { mongoBackend } from '../../adapters/stores/mongo/mongo.ts'
import { redisBackend } from '../../adapters/stores/redis/redis.ts'
import { sqliteBackend } from '../../adapters/stores/sqlite/sqlite.ts'
import type { StoreBackend } from '../../adapters/stores/store-backend.ts'

/** Every kind of store. A driver is loaded when a store of its kind is opened. */
export const stores: readonly StoreBackend[] = [memoryBackend, sqliteBackend, mongoBackend, redisBackend]
