// The suites that prove a store, and helpers for tests of embedding programs. Loads no test runner.
// `npm run docs:api` lists the names with their signatures.

// The contract suites
export { storeSuites } from './store-suites.ts'
export type { OpenedStore, Runner, StoreUnderProof } from './cases.ts'

// Replacements for the clock, hasher, handlers and stores
export { memoryStore } from './memory-store.ts'
export { type MemoryOutbox, memoryOutbox } from '../adapters/stores/memory/outbox.ts'
export { deliverAll } from './users-scene.ts'
export { fixedClock, type FixedClock } from './fixed-clock.ts'
export { quickHasher } from './quick-hasher.ts'
export { recordedHandlers, type RecordedCall, type RecordedHandlers } from './recorded-handlers.ts'

// Builders: valid values, with the fields that matter given
export {
  anAccount,
  anEvent,
  aSingleUseRecord,
  aSession,
  aToken,
  aTokenRequest,
  aUser,
  someFactors,
} from './builders.ts'
