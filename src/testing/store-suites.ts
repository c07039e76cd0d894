import assert from 'node:assert/strict'
import { neededPorts, portsFor, type UsersRole } from '../adapters/stores/store-backend.ts'
import { type PortName, portNames, type StorePorts } from '../adapters/stores/store-ports.ts'
import { type Cases, casesOf, type Runner, type StoreUnderProof } from './cases.ts'
import { deadLetterContract } from './contracts/dead-letters.ts'
import { expiringMarksContract } from './contracts/expiring-marks.ts'
import { fullQueueContract } from './contracts/full-queues.ts'
import { limiterContract } from './contracts/limiter.ts'
import { loginTimesContract } from './contracts/login-times.ts'
import { oauthAccountsContract } from './contracts/oauth-accounts.ts'
import { outboxContract } from './contracts/outbox.ts'
import { ownFieldsContract } from './contracts/own-fields.ts'
import { refusedLoginsContract } from './contracts/refused-logins.ts'
import { sessionStoreContract } from './contracts/session-store.ts'
import { singleUseRecordsContract } from './contracts/single-use-records.ts'
import { sinksContract } from './contracts/sinks.ts'
import { superusersContract } from './contracts/superusers.ts'
import { tenantTextsContract } from './contracts/tenant-texts.ts'
import { tokenRequestsContract } from './contracts/token-requests.ts'
import { tokenStoreContract } from './contracts/token-store.ts'
import { userIdsContract } from './contracts/user-ids.ts'
import { userSearchContract } from './contracts/user-search.ts'
import { userStoreContract } from './contracts/user-store.ts'
import { forgetWaiting } from './users-scene.ts'

type Suite = (runner: Runner, store: StoreUnderProof) => void

/** The suites of each port. */
const suites: { readonly [Name in PortName]-?: readonly Suite[] } = {
  users: [
    ofUsers('as a store of users', userStoreContract),
    ofUsers('as a store of OAuth accounts', oauthAccountsContract),
    ofUsers('as a store of superusers', superusersContract),
    ofUsers('as a store of own fields', ownFieldsContract),
    ofUsers('as a store that is searched', userSearchContract),
  ],
  outbox: [
    ofUsers('as an outbox', outboxContract),
    ofUsers('as an outbox with several sinks', sinksContract),
    ofUsers('as an outbox that is full', fullQueueContract),
    ofUsers('as a store of dead letters', deadLetterContract),
  ],
  tokenRequests: [ofUsers('as a store of requests for tokens', tokenRequestsContract)],
  expiringMarks: [ofPort('expiringMarks', 'as a store of marks that expire', expiringMarksContract)],
  tenantTexts: [ofPort('tenantTexts', 'as a store of named texts', tenantTextsContract)],
  userIds: [ofPort('userIds', 'as a store of the kind of ids', userIdsContract)],
  loginTimes: [ofUsers('as a store of the times of logins', loginTimesContract)],
  sessions: [ofPort('sessions', 'as a store of sessions', sessionStoreContract)],
  limiter: [ofPort('limiter', 'as a limiter', limiterContract)],
  refusedLogins: [ofPort('refusedLogins', 'as a store of refused logins', refusedLoginsContract)],
  tokens: [ofPort('tokens', 'as a store of one-time tokens', tokenStoreContract)],
  singleUseRecords: [ofPort('singleUseRecords', 'as a store of single-use records', singleUseRecordsContract)],
}

/** A suite of one port. */
function ofPort<Name extends PortName>(
  name: Name,
  title: string,
  contract: (cases: Cases<Required<StorePorts>[Name]>) => void,
): Suite {
  return (runner, store) => {
    runner.describe(title, () =>
      contract(
        casesOf<Required<StorePorts>[Name]>(
          runner,
          store,
          (ports) => ports[name] as Required<StorePorts>[Name],
          async () => {},
        ),
      ),
    )
  }
}

/** A suite of users with their queues. */
function ofUsers(title: string, contract: (cases: Cases<UsersRole>) => void): Suite {
  return (runner, store) => {
    const users = (ports: StorePorts): UsersRole => portsFor('users', 'the store', ports)
    runner.describe(title, () => contract(casesOf(runner, store, users, forgetWaiting)))
  }
}

/** Makes `runner` prove every promise of the ports that `store` offers, one test for each promise. */
export function storeSuites(runner: Runner, store: StoreUnderProof): void {
  const offered = new Set<PortName>([...store.roles.flatMap((role) => neededPorts[role]), ...(store.ports ?? [])])
  for (const name of offered) for (const suite of suites[name]) suite(runner, store)
  runner.it('offers no port without its suite', async () => {
    const { store: ports, close } = await store.open()
    await close()
    const unproved = portNames.filter((name) => ports[name] !== undefined && !offered.has(name))
    assert.deepEqual(unproved, [], 'name these ports in `ports` of the store under proof')
  })
}
