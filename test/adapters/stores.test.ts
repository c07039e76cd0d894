import type { ContractCase } from '../../src/testing/contract.ts'
import { deadLetterContract } from '../../src/testing/contracts/dead-letters.ts'
import { oauthAccountsContract } from '../../src/testing/contracts/oauth-accounts.ts'
import { oauthStateStoreContract } from '../../src/testing/contracts/oauth-state-store.ts'
import type { Open } from '../../src/testing/contracts/opened.ts'
import { outboxContract } from '../../src/testing/contracts/outbox.ts'
import { sessionStoreContract } from '../../src/testing/contracts/session-store.ts'
import { tokenRequestsContract } from '../../src/testing/contracts/token-requests.ts'
import { tokenStoreContract } from '../../src/testing/contracts/token-store.ts'
import { userStoreContract } from '../../src/testing/contracts/user-store.ts'
import { storesUnderTest } from '../support/stores.ts'

const serversAreRequired = process.env.TEST_REQUIRE_SERVERS === '1'

/** Runs a suite on a store, and closes whatever it opened. */
function holds<T extends { close(): Promise<void> }>(
  title: string,
  open: Open<T> | undefined,
  suite: (open: Open<T>) => ContractCase[],
): void {
  if (open === undefined) return
  describe(title, () => {
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
    for (const { title, run } of cases) it(title, run)

    after(async () => {
      for (const close of toClose) await close()
    })
  })
}

for (const { name, start, stop, users, sessions, tokens, oauthStates, sweeps = true } of storesUnderTest) {
  describe(`the ${name} store`, function () {
    this.timeout(90_000)

    before(async function () {
      const obstacle = (await start?.()) ?? null
      if (obstacle === null) return
      if (serversAreRequired) throw new Error(obstacle)
      process.once('exit', () => console.warn(`NOT TRIED: the ${name} store, since ${obstacle}`))
      this.skip()
    })

    holds('as a store of users', users, userStoreContract)
    holds('as a store of OAuth accounts', users, oauthAccountsContract)
    holds('as an outbox', users, outboxContract)
    holds('as a store of dead letters', users, deadLetterContract)
    holds('as a store of requests for tokens', users, tokenRequestsContract)
    holds('as a store of sessions', sessions, (open) => sessionStoreContract(open, { sweeps }))
    holds('as a store of one-time tokens', tokens, (open) => tokenStoreContract(open, { sweeps }))
    holds('as a store of OAuth states', oauthStates, (open) => oauthStateStoreContract(open, { sweeps }))

    after(async () => {
      await stop?.()
    })
  })
}
