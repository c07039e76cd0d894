import { type Cases, casesOf, type Runner, type StoreParts, type StoreUnderProof } from './cases.ts'
import { deadLetterContract } from './contracts/dead-letters.ts'
import { expiringIdsContract } from './contracts/expiring-ids.ts'
import { fullQueueContract } from './contracts/full-queues.ts'
import { limiterContract } from './contracts/limiter.ts'
import { oauthAccountsContract } from './contracts/oauth-accounts.ts'
import { oauthStateStoreContract } from './contracts/oauth-state-store.ts'
import { outboxContract } from './contracts/outbox.ts'
import { sessionStoreContract } from './contracts/session-store.ts'
import { tokenRequestsContract } from './contracts/token-requests.ts'
import { tokenStoreContract } from './contracts/token-store.ts'
import { userStoreContract } from './contracts/user-store.ts'
import { forgetWaiting } from './users-scene.ts'

/** Makes `runner` prove every promise of the ports that `store` implements, one test for each promise. */
export function storeSuites(runner: Runner, store: StoreUnderProof): void {
  function holds<Part>(
    title: string,
    partOf: (store: StoreParts) => Part | undefined,
    contract: (cases: Cases<Part>) => void,
    prepare: (part: Part) => Promise<void> = async () => {},
  ): void {
    runner.describe(title, () => contract(casesOf(runner, store, partOf, prepare)))
  }

  if (store.roles.includes('users')) {
    for (const [title, contract] of [
      ['as a store of users', userStoreContract],
      ['as a store of OAuth accounts', oauthAccountsContract],
      ['as an outbox', outboxContract],
      ['as an outbox that is full', fullQueueContract],
      ['as a store of dead letters', deadLetterContract],
      ['as a store of requests for tokens', tokenRequestsContract],
    ] as const) {
      holds(title, ({ users }) => users, contract, forgetWaiting)
    }
    holds('as a store of ids that expire', ({ users }) => users?.expiringIds, expiringIdsContract)
  }
  if (store.roles.includes('sessions')) {
    holds('as a store of sessions', ({ sessions }) => sessions, sessionStoreContract)
  }
  if (store.hasLimiter) holds('as a limiter', ({ limiter }) => limiter, limiterContract)
  if (store.roles.includes('tokens')) {
    holds('as a store of one-time tokens', ({ tokens }) => tokens, tokenStoreContract)
    holds('as a store of OAuth states', ({ oauthStates }) => oauthStates, oauthStateStoreContract)
  }
}
