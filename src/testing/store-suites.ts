import type { ContractCase } from './contract.ts'
import { deadLetterContract } from './contracts/dead-letters.ts'
import { expiringIdsContract } from './contracts/expiring-ids.ts'
import { fullQueueContract } from './contracts/full-queues.ts'
import { oauthAccountsContract } from './contracts/oauth-accounts.ts'
import { oauthStateStoreContract } from './contracts/oauth-state-store.ts'
import { outboxContract } from './contracts/outbox.ts'
import { sessionStoreContract } from './contracts/session-store.ts'
import type {
  Open,
  OpenedOAuthStates,
  OpenedSessions,
  OpenedTokens,
  OpenedUsers,
} from './contracts/store-under-test.ts'
import { tokenRequestsContract } from './contracts/token-requests.ts'
import { tokenStoreContract } from './contracts/token-store.ts'
import { userStoreContract } from './contracts/user-store.ts'

/** The functions of a test runner: globals of Mocha and Jest, imports of `node:test` and Vitest (`afterAll`). */
export interface Runner {
  describe(title: string, body: () => void): unknown
  it(title: string, run: () => Promise<void>): unknown
  after(run: () => Promise<void>): unknown
}

/** The roles of a store, each with a function that opens a new, empty one. A store of users needs every role of users. */
export interface StoreUnderProof {
  readonly users?: Open<OpenedUsers> | undefined
  readonly sessions?: Open<OpenedSessions> | undefined
  readonly tokens?: Open<OpenedTokens> | undefined
  readonly oauthStates?: Open<OpenedOAuthStates> | undefined
  /** `false` if the store expires records by its own clock: then `sweep` may find nothing. */
  readonly sweeps?: boolean | undefined
}

/** Makes `runner` prove every promise of the ports that `store` implements, one test for each promise. */
export function storeSuites(runner: Runner, store: StoreUnderProof): void {
  const { users, sessions, tokens, oauthStates, sweeps = true } = store

  /** Runs a suite, and closes the stores that it opened. */
  function holds<T extends { close(): Promise<void> }>(
    title: string,
    open: Open<T> | undefined,
    suite: (open: Open<T>) => ContractCase[],
  ): void {
    if (open === undefined) return
    runner.describe(title, () => {
      const toClose = new Set<() => Promise<void>>()
      const cases = suite(async () => {
        const opened = await open()
        const close = () => opened.close()
        toClose.add(close)
        return {
          ...opened,
          async close() {
            if (toClose.delete(close)) await close()
          },
        }
      })
      for (const { title, run } of cases) runner.it(title, run)
      runner.after(async () => {
        for (const close of toClose) await close()
      })
    })
  }

  holds('as a store of users', users, userStoreContract)
  holds('as a store of OAuth accounts', users, oauthAccountsContract)
  holds('as an outbox', users, outboxContract)
  holds('as an outbox that is full', users, fullQueueContract)
  holds('as a store of dead letters', users, deadLetterContract)
  holds('as a store of requests for tokens', users, tokenRequestsContract)
  holds('as a store of ids that expire', users, (open) => expiringIdsContract(open, { sweeps }))
  holds('as a store of sessions', sessions, (open) => sessionStoreContract(open, { sweeps }))
  holds('as a store of one-time tokens', tokens, (open) => tokenStoreContract(open, { sweeps }))
  holds('as a store of OAuth states', oauthStates, (open) => oauthStateStoreContract(open, { sweeps }))
}
