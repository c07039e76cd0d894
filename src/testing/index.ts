// The suites that prove a store, and helpers for tests of embedding programs, one export per line. Loads no test runner.
// `npm run docs:api` lists the names with their signatures.

// The contract suites
export { storeSuites } from './store-suites.ts'
export type { OpenedStore } from './contracts/cases.ts'
export type { Runner } from './contracts/cases.ts'
export type { StoreParts } from './contracts/cases.ts'
export type { StoreUnderProof } from './contracts/cases.ts'

// Replacements for the clock, hasher, handlers and stores
export { memoryStore } from './memory-store.ts'
export { deliverAll } from './contracts/users-scene.ts'
export { fixedClock } from './fixed-clock.ts'
export type { FixedClock } from './fixed-clock.ts'
export { quickHasher } from './quick-hasher.ts'
export { recordedHandlers } from './recorded-handlers.ts'
export type { RecordedHandlers } from './recorded-handlers.ts'

// Builders: valid values, with the fields that matter given
export { aSession } from './builders.ts'
export { aToken } from './builders.ts'
export { aTokenRequest } from './builders.ts'
export { aUser } from './builders.ts'
export { anAccount } from './builders.ts'
export { anEvent } from './builders.ts'
export { anOAuthState } from './builders.ts'
