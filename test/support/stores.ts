// The stores that run every contract suite (test/adapters/stores.test.ts). To add one: a file beside this one that
// exports its StoreUnderTest, and a line in the list below. A store that needs a server finds or starts it in
// `start`, which answers why it could not: CI (TEST_REQUIRE_SERVERS=1) fails then, a laptop skips aloud.
import type { StoreUnderProof } from '../../src/testing/contracts/cases.ts'
import { memoryUnderTest } from './memory.ts'
import { mongoUnderTest } from './mongo.ts'
import { redisUnderTest } from './redis.ts'
import { sqliteUnderTest } from './sqlite.ts'

export interface StoreUnderTest extends StoreUnderProof {
  readonly name: string
  /** Run once, before anything is opened. Answers why the store cannot be tried here; `null` when it can. */
  start?(): Promise<string | null>
  /** Run once, after everything was closed. */
  stop?(): Promise<void>
}

export const storesUnderTest: readonly StoreUnderTest[] = [
  memoryUnderTest,
  mongoUnderTest,
  redisUnderTest,
  sqliteUnderTest,
]
