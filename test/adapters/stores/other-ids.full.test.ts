import { randomBytes, randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { newUserIds } from '../../../src/adapters/crypto/new-id.ts'
import { portsFor, type UsersRole } from '../../../src/adapters/stores/store-backend.ts'
import type { StorePorts } from '../../../src/adapters/stores/store-ports.ts'
import { type IdKind, kindOf, type UserId } from '../../../src/domain/ids.ts'
import { anEvent, aUser, buildIds } from '../../../src/testing/builders.ts'
import { type Cases, casesOf } from '../../../src/testing/cases.ts'
import { loginTimesContract } from '../../../src/testing/contracts/login-times.ts'
import { oauthAccountsContract } from '../../../src/testing/contracts/oauth-accounts.ts'
import { outboxContract } from '../../../src/testing/contracts/outbox.ts'
import { sinksContract } from '../../../src/testing/contracts/sinks.ts'
import { superusersContract } from '../../../src/testing/contracts/superusers.ts'
import { userStoreContract } from '../../../src/testing/contracts/user-store.ts'
import { forgetWaiting } from '../../../src/testing/users-scene.ts'
import { skipIfMissing } from '../../support/servers/obstacles.ts'
import { memoryUnderTest } from '../../support/stores/memory.ts'
import { mongoUnderTest } from '../../support/stores/mongo.ts'
import { postgresUnderTest } from '../../support/stores/postgres.ts'
import { sqliteUnderTest } from '../../support/stores/sqlite.ts'

let number = 8
const makers = {
  integer: () => String(number++) as UserId, // the order of 9 and 10 as texts is another one
  objectid: () => randomBytes(12).toString('hex') as UserId,
}

type Contract = (cases: Cases<UsersRole>) => void
const contracts: Readonly<Record<keyof typeof makers, readonly Contract[]>> = {
  integer: [
    userStoreContract,
    oauthAccountsContract,
    superusersContract,
    outboxContract,
    sinksContract,
    loginTimesContract,
  ],
  objectid: [userStoreContract, loginTimesContract],
}

for (const ids of ['integer', 'objectid'] as const) {
  for (const { name, start, open, sweeps } of [memoryUnderTest, sqliteUnderTest, postgresUnderTest]) {
    describe(`the ${name} store with ids of the kind ${ids}`, () => {
      before(async function () {
        skipIfMissing(this, (await start?.()) ?? null)
        buildIds(makers[ids])
      })
      after(() => buildIds(() => randomUUID() as UserId))

      const store = { roles: [], open: () => openWith(ids, open), ...(sweeps !== undefined && { sweeps }) }
      const users = (ports: StorePorts): UsersRole => portsFor('users', 'the store', ports)
      for (const contract of contracts[ids]) contract(casesOf({ describe, it, after }, store, users, forgetWaiting))
    })
  }
}

async function openWith(ids: IdKind, open: typeof sqliteUnderTest.open) {
  const opened = await open(ids)
  expect(await opened.store.userIds?.keep(ids)).to.equal(ids)
  return opened
}

describe('a store that an older release has written', () => {
  for (const { name, start, open } of [sqliteUnderTest, mongoUnderTest]) {
    it(`has UUIDs in ${name}, whatever the setting says`, async function () {
      skipIfMissing(this, (await start?.()) ?? null)
      const { store, close } = await open()
      await store.users?.insert(aUser(), [])
      expect(await store.userIds?.keep('integer')).to.equal('uuid')
      await close()
    })
  }
})

describe('MongoDB with integer ids', () => {
  it('finds the users, and lists them in the order of their texts', async function () {
    skipIfMissing(this, (await mongoUnderTest.start?.()) ?? null)
    const { store, second, close } = await mongoUnderTest.open()
    expect(await store.userIds?.keep('integer')).to.equal('integer')
    for (const id of ['9', '10', '11'] as UserId[]) {
      await store.users?.insert(aUser({ id }), [])
      expect((await second.users?.find(id))?.id).to.equal(id)
    }
    const pages = [await store.users?.list(2, null), await store.users?.list(2, '11')]
    expect(pages.map((page) => page?.items.map(({ id }) => id))).to.deep.equal([['10', '11'], ['9']])
    await close()
  })
})

describe('the counter of ids', () => {
  for (const { name, start, open } of [memoryUnderTest, sqliteUnderTest, mongoUnderTest, postgresUnderTest]) {
    it(`is above the ids that users were inserted with in ${name}, also of removed ones`, async function () {
      skipIfMissing(this, (await start?.()) ?? null)
      const { store, second, close } = await open('integer')
      const { users, userIds } = portsFor('users', name, store)
      expect(await userIds.next()).to.equal(1)
      const moved = aUser({ id: '5000' as UserId, isSuperuser: false })
      await users.insert(moved, [])
      await users.insert(aUser({ id: '40' as UserId }), [])
      await users.remove(moved, [anEvent(moved, { type: 'deleted' })])
      expect(await second.userIds?.next()).to.equal(5001)
      await users.insertAll?.([aUser({ id: '5003' as UserId }), aUser({ id: '5002' as UserId })])
      if (users.insertAll !== undefined) expect(await userIds.next()).to.equal(5004)
      await close()
    })
  }
})

describe('the ids of new users', () => {
  it('are of the kind that the setting names, and different', async () => {
    let last = 41
    for (const kind of ['uuid', 'integer', 'objectid'] as const) {
      const make = newUserIds(kind, { next: async () => ++last })
      const made = [await make(), await make()]
      expect(made.map(kindOf)).to.deep.equal([kind, kind])
      expect(made[0]).to.not.equal(made[1])
      if (kind === 'objectid') expect((made[0] ?? '') < (made[1] ?? '')).to.equal(true) // but for one wrap in 16 million
    }
  })
})
