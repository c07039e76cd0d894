import assert from 'node:assert/strict'
import type { UsersRole } from '../../adapters/stores/store-backend.ts'
import { type LeasedRequest, maxWaitingRequests } from '../../application/ports/stores/token-requests.ts'
import type { TokenRequest } from '../../domain/one-time-token.ts'
import { aTokenRequest } from '../builders.ts'
import type { ContractCase } from '../contract.ts'
import { afresh, type Open, type OpenedUsers } from './store-under-test.ts'
import { onQuietStore } from './users-scene.ts'

/** The promises of `TokenRequests` in `application/ports`. */
export function tokenRequestsContract(open: Open<OpenedUsers>): ContractCase[] {
  const on = onQuietStore(open)

  async function asked({ tokenRequests }: UsersRole, fields: Partial<TokenRequest> = {}): Promise<TokenRequest> {
    const request = aTokenRequest(fields)
    assert.equal(await tokenRequests.ask(request), 'asked')
    return request
  }

  async function leaseOne({ tokenRequests }: UsersRole, now: Date, leaseSeconds = 60): Promise<LeasedRequest> {
    const [lease, ...others] = await tokenRequests.lease(now, 10, leaseSeconds)
    assert.ok(lease, 'nothing could be leased')
    assert.deepEqual(others, [])
    return lease
  }

  async function claimNothing({ tokenRequests }: UsersRole, now: Date): Promise<void> {
    assert.deepEqual(await tokenRequests.lease(now, 10, 60), [])
  }

  return [
    on('gives back every field of a request', async ({ role, second, inSeconds }) => {
      for (const purpose of ['reset_password', 'verify_email'] as const) {
        const request = await asked(role, { purpose })
        const lease = await leaseOne(second, inSeconds(0), 3600)
        assert.deepEqual(lease, { request, boundFact: null, attempts: 0 })
      }
    }),

    on('leases the oldest requests first, at most so many', async ({ role, inSeconds }) => {
      const ages = [3, 1, 5, 2, 4]
      await Promise.all(ages.map((age) => asked(role, { requestId: `age ${age}`, at: inSeconds(-age) })))
      const batches = []
      for (let time = 0; time < 3; time++) batches.push(await role.tokenRequests.lease(inSeconds(0), 3, 60))
      // The order within a batch matters, too: requests are delivered in it.
      assert.deepEqual(
        batches.map((batch) => batch.map(({ request }) => request.requestId)),
        [['age 5', 'age 4', 'age 3'], ['age 2', 'age 1'], []],
      )
    }),

    on('leases what it hands out, and counts no attempt of what nobody began', async ({ role, second, inSeconds }) => {
      const request = await asked(role)
      await leaseOne(role, inSeconds(0), 10)
      await claimNothing(second, inSeconds(9))
      assert.deepEqual(await leaseOne(second, inSeconds(10), 10), { request, boundFact: null, attempts: 0 })
      await claimNothing(role, inSeconds(19))
      assert.equal((await leaseOne(role, inSeconds(20))).attempts, 0)
    }),

    on('leases every request exactly once, however many ask at once', async ({ role, second, inSeconds }) => {
      const requests = await Promise.all(Array.from({ length: 20 }, () => asked(role)))
      const batches = await Promise.all(
        Array.from({ length: 24 }, (_, at) => (at % 2 ? role : second).tokenRequests.lease(inSeconds(0), 3, 60)),
      )
      for (const batch of batches) assert.ok(batch.length <= 3)
      const ids = batches.flat().map((lease) => lease.request.id)
      assert.deepEqual(ids.sort(), requests.map(({ id }) => id).sort())
    }),

    on('leaves a request that waits as it is when it is made again, and its turn', async ({ role, inSeconds }) => {
      const first = await asked(role, { at: inSeconds(-2) })
      const other = await asked(role, { at: inSeconds(-1) })
      await asked(role, { id: first.id, at: inSeconds(0) })
      const leases = await role.tokenRequests.lease(inSeconds(0), 1, 60)
      assert.deepEqual(leases, [{ request: first, boundFact: null, attempts: 0 }])
      assert.deepEqual((await leaseOne(role, inSeconds(0))).request, other)
      await role.tokenRequests.settle([first, other])
      await claimNothing(role, inSeconds(3600))
    }),

    on('keeps one of many requests of the same id that come at once', async ({ role, second, inSeconds }) => {
      const { id } = aTokenRequest()
      const requests = Array.from({ length: 24 }, () => aTokenRequest({ id }))
      const outcomes = await Promise.all(
        requests.map((request, at) => (at % 2 ? role : second).tokenRequests.ask(request)),
      )
      assert.deepEqual(new Set(outcomes), new Set(['asked']))
      const { request } = await leaseOne(role, inSeconds(0))
      assert.ok(requests.some(({ eventId }) => eventId === request.eventId))
    }),

    on('keeps lease, attempts, postponement and bound fact of a request that is made again', async (scene) => {
      const { role, second, inSeconds } = scene
      const request = await asked(role)
      const again = () => asked(second, { id: request.id, at: inSeconds(0) })
      await leaseOne(role, inSeconds(0), 10)
      await again()
      await claimNothing(second, inSeconds(9))
      assert.equal(await role.tokenRequests.bind(request, 'password:3'), true)
      await again()
      await role.tokenRequests.postpone([request], inSeconds(500))
      await again()
      await claimNothing(second, inSeconds(499))
      assert.deepEqual(await leaseOne(role, inSeconds(500)), { request, boundFact: 'password:3', attempts: 1 })
    }),

    on('leaves a later request of the same id alone, whatever is done about the first', async ({ role, inSeconds }) => {
      const first = await asked(role)
      await leaseOne(role, inSeconds(0))
      await role.tokenRequests.settle([first])
      const later = await asked(role, { id: first.id })
      assert.equal(await role.tokenRequests.bind(first, 'password:3'), false)
      await role.tokenRequests.postpone([first], inSeconds(500))
      await role.tokenRequests.settle([first])
      assert.deepEqual(await leaseOne(role, inSeconds(0)), { request: later, boundFact: null, attempts: 0 })
    }),

    on('leases what was postponed in the order in which it was asked for', async ({ role, inSeconds }) => {
      const requests = []
      for (const age of [4, 3, 2]) requests.push(await asked(role, { at: inSeconds(-age) }))
      await role.tokenRequests.lease(inSeconds(0), 10, 60)
      requests.push(await asked(role, { at: inSeconds(-1) }))
      await role.tokenRequests.postpone(requests.slice(0, 3), inSeconds(0))
      await role.tokenRequests.postpone([], inSeconds(0))
      const leases = []
      for (let time = 0; time < 2; time++) leases.push(...(await role.tokenRequests.lease(inSeconds(1), 2, 60)))
      assert.deepEqual(
        leases.map(({ request }) => request),
        requests,
      )
    }),

    on(
      'hands out a bound fact with every later lease, and how often it was bound',
      async ({ role, second, inSeconds }) => {
        const request = await asked(role)
        await leaseOne(role, inSeconds(0), 10)
        assert.equal(await role.tokenRequests.bind(request, 'password:3'), true)
        const again = await leaseOne(second, inSeconds(10), 10)
        assert.deepEqual(again, { request, boundFact: 'password:3', attempts: 1 })
        assert.equal(await second.tokenRequests.bind(request, 'password:3'), true)
        await role.tokenRequests.postpone([request], inSeconds(15))
        const last = await leaseOne(role, inSeconds(15), 10)
        assert.deepEqual(last, { request, boundFact: 'password:3', attempts: 2 })
      },
    ),

    on('binds nothing for a request that is gone', async ({ role, inSeconds }) => {
      const request = await asked(role)
      await role.tokenRequests.settle([request])
      assert.equal(await role.tokenRequests.bind(request, 'password:3'), false)
      await role.tokenRequests.postpone([request], inSeconds(0))
      await claimNothing(role, inSeconds(3600))
    }),

    on('holds a postponed request until its time, and no other', async ({ role, inSeconds }) => {
      const request = await asked(role)
      await leaseOne(role, inSeconds(0), 10)
      await role.tokenRequests.postpone([request], inSeconds(100))
      const other = await asked(role)
      assert.deepEqual((await leaseOne(role, inSeconds(0), 3600)).request, other)
      await claimNothing(role, inSeconds(99))
      assert.deepEqual(await leaseOne(role, inSeconds(100)), { request, boundFact: null, attempts: 0 })
    }),

    on('makes a request due before its lease ends when it is postponed to then', async ({ role, inSeconds }) => {
      const request = await asked(role)
      await leaseOne(role, inSeconds(0), 60)
      await role.tokenRequests.postpone([request], inSeconds(5))
      await claimNothing(role, inSeconds(4))
      assert.deepEqual((await leaseOne(role, inSeconds(5))).request, request)
    }),

    on('forgets many at once, and only those', async ({ role, inSeconds }) => {
      const requests = await Promise.all(Array.from({ length: 40 }, () => asked(role)))
      const left = await asked(role)
      await role.tokenRequests.settle(requests)
      await role.tokenRequests.settle([])
      assert.deepEqual((await leaseOne(role, inSeconds(0))).request, left)
    }),

    on(
      'sweeps what was asked before a time, at most so many, and a leased one as well',
      async ({ role, inSeconds }) => {
        for (const age of [30, 20, 10]) await asked(role, { at: inSeconds(-age) })
        assert.equal((await role.tokenRequests.lease(inSeconds(0), 1, 60)).length, 1)
        const askedBefore = inSeconds(-5)
        const later = await asked(role, { at: askedBefore })
        assert.equal(await role.tokenRequests.sweep(askedBefore, 2), 2)
        assert.equal(await role.tokenRequests.sweep(askedBefore, 500), 1)
        assert.equal(await role.tokenRequests.sweep(askedBefore, 500), 0)
        assert.deepEqual((await leaseOne(role, inSeconds(3600))).request, later)
      },
    ),

    {
      title: `lets ${maxWaitingRequests.toLocaleString('en')} wait and refuses more, whoever asks`,
      run: () =>
        afresh(open, async ({ role }) => {
          const requests: TokenRequest[] = []
          while (requests.length < maxWaitingRequests) {
            requests.push(...(await Promise.all(Array.from({ length: 25 }, () => asked(role)))))
          }
          assert.equal(await role.tokenRequests.ask(aTokenRequest()), 'full')
          const [waiting] = requests
          assert.ok(waiting)
          // Otherwise the answer would reveal that somebody else asked for this address.
          assert.equal(await role.tokenRequests.ask(aTokenRequest({ id: waiting.id })), 'full')
          await role.tokenRequests.settle(requests.slice(0, 100))
          assert.equal(await role.tokenRequests.ask(aTokenRequest()), 'asked')
        }),
    },
  ]
}
