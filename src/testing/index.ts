// The suites that prove a store, and helpers for tests of embedding programs, one export per line. Loads no test runner.
// `npm run docs:api` lists the names with their signatures.

// The contract suites
export { storeSuites } from './store-suites.ts'
export type { Runner } from './store-suites.ts'
export type { StoreUnderProof } from './store-suites.ts'
export type { ContractCase } from './contract.ts'
export { deadLetterContract } from './contracts/dead-letters.ts'
export { expiringIdsContract } from './contracts/expiring-ids.ts'
export { fullQueueContract } from './contracts/full-queues.ts'
export { oauthAccountsContract } from './contracts/oauth-accounts.ts'
export { oauthStateStoreContract } from './contracts/oauth-state-store.ts'
export { outboxContract } from './contracts/outbox.ts'
export { sessionStoreContract } from './contracts/session-store.ts'
export { tokenRequestsContract } from './contracts/token-requests.ts'
export { tokenStoreContract } from './contracts/token-store.ts'
export { userStoreContract } from './contracts/user-store.ts'
export type { Open } from './contracts/store-under-test.ts'
export type { OpenedOAuthStates } from './contracts/store-under-test.ts'
export type { OpenedSessions } from './contracts/store-under-test.ts'
export type { OpenedTokens } from './contracts/store-under-test.ts'
export type { OpenedUsers } from './contracts/store-under-test.ts'
export type { SweepOptions } from './contracts/store-under-test.ts'

// Replacements for the clock, hasher, handlers and stores
export { memoryStore } from './memory-store.ts'
export { deliverAll } from './contracts/deliveries.ts'
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
