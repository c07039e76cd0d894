// The stores that run every contract suite (test/adapters/stores.test.ts). To add one: a file beside this one that
// exports its StoreUnderTest, and a line in the list below. A store that needs a server finds or starts it in
// `start`, which answers why it could not: CI (TEST_REQUIRE_SERVERS=1) fails then, a laptop skips aloud.
import { memoryUnderTest } from './memory.ts'
import { mongoUnderTest } from './mongo.ts'
import { postgresUnderTest } from './postgres.ts'
import { redisUnderTest } from './redis.ts'
import { sqliteUnderTest } from './sqlite.ts'
import type { StoreUnderTest } from './store-under-test.ts'

export const storesUnderTest: readonly StoreUnderTest[] = [
  memoryUnderTest,
  mongoUnderTest,
  postgresUnderTest,
  redisUnderTest,
  sqliteUnderTest,
]
