import assert from 'node:assert/strict'
import type { UsersRole } from '../../adapters/stores/store-backend.ts'
import type { DeliveryState } from '../../application/ports/stores/page.ts'
import {
  type LeasedRequest,
  maxWaitingRequests,
  type UndeliveredRequest,
} from '../../application/ports/stores/token-requests.ts'
import type { TokenRequest } from '../../domain/one-time-token.ts'
import { aTokenRequest, aUser } from '../builders.ts'
import { type Cases, range } from '../cases.ts'
import { everyPage } from '../users-scene.ts'

const { id: userId } = aUser()

/** The promises of `TokenRequests` in `application/ports`. */
export function tokenRequestsContract({ on, onNew }: Cases<UsersRole>): void {
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

  const listed = ({ tokenRequests }: UsersRole, state: DeliveryState) =>
    everyPage((limit, after) => tokenRequests.list(state, limit, after))

  const sorted = (requests: readonly UndeliveredRequest[]) =>
    [...requests].sort((one, other) => (one.request.eventId < other.request.eventId ? -1 : 1))

  async function leaseNothing({ tokenRequests }: UsersRole, now: Date): Promise<void> {
    assert.deepEqual(await tokenRequests.lease(now, 10, 60), [])
  }

  on('gives back every field of a request', async ({ store, second, inSeconds }) => {
    for (const [purpose, languages] of [
      ['reset_password', ['de-CH', 'en']],
      ['verify_email', []],
    ] as const) {
      const request = await asked(store, { purpose, languages })
      const lease = await leaseOne(second, inSeconds(0), 3600)
      assert.deepEqual(lease, { request, boundFact: null, attempts: 0 })
    }
  })

  on('leases at most the given number of requests, the oldest first', async ({ store, inSeconds }) => {
    const ages = [3, 1, 5, 2, 4]
    await Promise.all(ages.map((age) => asked(store, { requestId: `age ${age}`, at: inSeconds(-age) })))
    const batches = []
    for (let time = 0; time < 3; time++) batches.push(await store.tokenRequests.lease(inSeconds(0), 3, 60))
    // The order within a batch matters, too: requests are delivered in it.
    const ids = batches.map((batch) => batch.map(({ request }) => request.requestId))
    assert.deepEqual(ids, [['age 5', 'age 4', 'age 3'], ['age 2', 'age 1'], []])
  })

  on('leases each request to exactly one of many concurrent callers', async ({ store, inSeconds, atOnce }) => {
    const requests = await Promise.all(range(20).map(() => asked(store)))
    const batches = await atOnce(range(24), (one) => one.tokenRequests.lease(inSeconds(0), 3, 60))
    for (const batch of batches) assert.ok(batch.length <= 3)
    const ids = batches.flat().map((lease) => lease.request.id)
    assert.deepEqual(ids.sort(), requests.map(({ id }) => id).sort())
  })

  on('keeps a waiting request and its place when it is repeated', async ({ store, inSeconds }) => {
    const first = await asked(store, { at: inSeconds(-2) })
    const other = await asked(store, { at: inSeconds(-1) })
    await asked(store, { id: first.id, at: inSeconds(0) })
    const leases = await store.tokenRequests.lease(inSeconds(0), 1, 60)
    assert.deepEqual(leases, [{ request: first, boundFact: null, attempts: 0 }])
    assert.deepEqual((await leaseOne(store, inSeconds(0))).request, other)
    await store.tokenRequests.settle([first, other])
    await leaseNothing(store, inSeconds(3600))
  })

  on('keeps one of many concurrent requests of the same id', async ({ store, inSeconds, atOnce }) => {
    const { id } = aTokenRequest()
    const requests = range(24).map(() => aTokenRequest({ id }))
    const outcomes = await atOnce(requests, (one, request) => one.tokenRequests.ask(request))
    assert.deepEqual(new Set(outcomes), new Set(['asked']))
    const { request } = await leaseOne(store, inSeconds(0))
    assert.ok(requests.some(({ eventId }) => eventId === request.eventId))
  })

  on('keeps lease, attempts, postponement and bound fact of a repeated request', async (scene) => {
    const { store, second, inSeconds } = scene
    const request = await asked(store)
    const again = () => asked(second, { id: request.id, at: inSeconds(0) })
    await leaseOne(store, inSeconds(0), 10)
    await again()
    await leaseNothing(second, inSeconds(9))
    assert.equal(await store.tokenRequests.bind(request, 'password:3', userId), true)
    await again()
    await store.tokenRequests.postpone([request], inSeconds(500))
    await again()
    await leaseNothing(second, inSeconds(499))
    assert.deepEqual(await leaseOne(store, inSeconds(500)), { request, boundFact: 'password:3', attempts: 1 })
  })

  on('does not change a later request of the same id when the first one is settled', async ({ store, inSeconds }) => {
    const first = await asked(store)
    await leaseOne(store, inSeconds(0))
    await store.tokenRequests.settle([first])
    const later = await asked(store, { id: first.id })
    assert.equal(await store.tokenRequests.bind(first, 'password:3', userId), false)
    await store.tokenRequests.postpone([first], inSeconds(500))
    await store.tokenRequests.settle([first])
    assert.deepEqual(await leaseOne(store, inSeconds(0)), { request: later, boundFact: null, attempts: 0 })
  })

  on('leases postponed requests in the order in which they were made', async ({ store, inSeconds }) => {
    const requests = []
    for (const age of [4, 3, 2]) requests.push(await asked(store, { at: inSeconds(-age) }))
    await store.tokenRequests.lease(inSeconds(0), 10, 60)
    requests.push(await asked(store, { at: inSeconds(-1) }))
    await store.tokenRequests.postpone(requests.slice(0, 3), inSeconds(0))
    await store.tokenRequests.postpone([], inSeconds(0))
    const leases = []
    for (let time = 0; time < 2; time++) leases.push(...(await store.tokenRequests.lease(inSeconds(1), 2, 60)))
    const leased = leases.map(({ request }) => request)
    assert.deepEqual(leased, requests)
  })

  on(
    'returns a bound fact with every later lease, and the number of bindings',
    async ({ store, second, inSeconds }) => {
      const request = await asked(store)
      await leaseOne(store, inSeconds(0), 10)
      assert.equal(await store.tokenRequests.bind(request, 'password:3', userId), true)
      const again = await leaseOne(second, inSeconds(10), 10)
      assert.deepEqual(again, { request, boundFact: 'password:3', attempts: 1 })
      assert.equal(await second.tokenRequests.bind(request, 'password:3', userId), true)
      await store.tokenRequests.postpone([request], inSeconds(15))
      const last = await leaseOne(store, inSeconds(15), 10)
      assert.deepEqual(last, { request, boundFact: 'password:3', attempts: 2 })
    },
  )

  on('does not bind a settled request', async ({ store, inSeconds }) => {
    const request = await asked(store)
    await store.tokenRequests.settle([request])
    assert.equal(await store.tokenRequests.bind(request, 'password:3', userId), false)
    await store.tokenRequests.postpone([request], inSeconds(0))
    await leaseNothing(store, inSeconds(3600))
  })

  on('holds a postponed request until its time, and no other', async ({ store, inSeconds }) => {
    const request = await asked(store)
    await leaseOne(store, inSeconds(0), 10)
    await store.tokenRequests.postpone([request], inSeconds(100))
    const other = await asked(store)
    assert.deepEqual((await leaseOne(store, inSeconds(0), 3600)).request, other)
    await leaseNothing(store, inSeconds(99))
    assert.deepEqual(await leaseOne(store, inSeconds(100)), { request, boundFact: null, attempts: 0 })
  })

  on('settles many requests at once, and no other', async ({ store, inSeconds }) => {
    const requests = await Promise.all(range(40).map(() => asked(store)))
    const left = await asked(store)
    await store.tokenRequests.settle(requests)
    await store.tokenRequests.settle([])
    assert.deepEqual((await leaseOne(store, inSeconds(0))).request, left)
  })

  on(
    'sweeps at most the given number of requests that are older than a time, leased or not',
    async ({ store, inSeconds }) => {
      for (const age of [30, 20, 10]) await asked(store, { at: inSeconds(-age) })
      assert.equal((await store.tokenRequests.lease(inSeconds(0), 1, 60)).length, 1)
      const askedBefore = inSeconds(-5)
      const later = await asked(store, { at: askedBefore })
      assert.equal(await store.tokenRequests.sweep(askedBefore, 2), 2)
      assert.equal(await store.tokenRequests.sweep(askedBefore, 500), 1)
      assert.equal(await store.tokenRequests.sweep(askedBefore, 500), 0)
      assert.deepEqual((await leaseOne(store, inSeconds(3600))).request, later)
    },
  )

  on('lists each waiting request once, with its user and the reason of its last failure', async (scene) => {
    const { store, second, inSeconds } = scene
    const untried = await Promise.all(range(4).map(() => asked(store)))
    const failed = await asked(store, { at: inSeconds(-10) })
    await store.tokenRequests.lease(inSeconds(0), 1, 60)
    assert.equal(await store.tokenRequests.bind(failed, 'password:3', userId), true)
    await store.tokenRequests.postpone([failed], inSeconds(60), 'it threw: “no”')
    await store.tokenRequests.postpone([failed], inSeconds(90)) // renews the lease of the next attempt
    const expected = [
      { request: failed, userId, attempts: 1, reason: 'it threw: “no”', diedAt: null },
      ...untried.map((request) => ({ request, userId: null, attempts: 0, reason: null, diedAt: null })),
    ]
    assert.deepEqual(sorted(await listed(second, 'waiting')), sorted(expected))
    assert.deepEqual(await listed(second, 'dead'), [])
  })

  on('lists buried requests, and takes later ones for the same address', async ({ store, second, inSeconds }) => {
    const requests = await Promise.all(range(3).map(() => asked(store)))
    for (const request of requests) {
      assert.equal(await store.tokenRequests.bind(request, 'password:3', userId), true)
      await store.tokenRequests.bury(request, inSeconds(5), 'it threw: “no”')
      await store.tokenRequests.bury(request, inSeconds(6), 'it is gone')
    }
    await leaseNothing(store, inSeconds(3600))
    const letters = requests.map((request) => {
      return { request, userId, attempts: 1, reason: 'it threw: “no”', diedAt: inSeconds(5) }
    })
    assert.deepEqual(sorted(await listed(second, 'dead')), sorted(letters))
    assert.deepEqual(await listed(second, 'waiting'), [])

    const [first] = requests
    const later = await asked(store, { id: first?.id ?? '' })
    assert.deepEqual((await leaseOne(store, inSeconds(0))).request, later)
  })

  on('counts waiting requests and dead letters, at most the given number', async ({ store, second, inSeconds }) => {
    const requests = await Promise.all(range(5).map(() => asked(store)))
    for (const request of requests.slice(0, 2)) await store.tokenRequests.bury(request, inSeconds(0), 'it threw')
    const { tokenRequests } = second
    assert.deepEqual([await tokenRequests.count('waiting', 100), await tokenRequests.count('dead', 100)], [3, 2])
    assert.deepEqual([await tokenRequests.count('waiting', 2), await tokenRequests.count('dead', 1)], [2, 1])
  })

  on(
    'revives a dead letter with its bound fact, unless a later request waits',
    async ({ store, second, inSeconds }) => {
      const [revived, replaced] = [await asked(store), await asked(store)]
      for (const request of [revived, replaced]) {
        assert.equal(await store.tokenRequests.bind(request, 'password:3', userId), true)
        await store.tokenRequests.bury(request, inSeconds(0), 'it threw')
      }
      assert.equal(await second.tokenRequests.revive(revived), true)
      assert.equal(await second.tokenRequests.revive(revived), false)
      assert.deepEqual(await leaseOne(store, inSeconds(0), 3600), {
        request: revived,
        boundFact: 'password:3',
        attempts: 0,
      })

      const later = await asked(store, { id: replaced.id })
      assert.equal(await store.tokenRequests.revive(replaced), false)
      assert.deepEqual(await listed(store, 'dead'), [])
      assert.deepEqual(await leaseOne(store, inSeconds(0)), { request: later, boundFact: null, attempts: 0 })
    },
  )

  on('discards a waiting request and a dead letter, and no later request of the same id', async (scene) => {
    const { store, second, inSeconds } = scene
    const [waiting, dead] = [await asked(store), await asked(store)]
    await store.tokenRequests.bury(dead, inSeconds(0), 'it threw')
    const later = await asked(store, { id: dead.id })
    for (const one of [waiting, dead]) {
      assert.equal(await second.tokenRequests.discard(one), true)
      assert.equal(await second.tokenRequests.discard(one), false)
    }
    assert.deepEqual(await listed(store, 'dead'), [])
    assert.deepEqual((await leaseOne(store, inSeconds(0))).request, later)
  })

  on('sweeps at most the given number of dead letters that are older than a time', async ({ store, inSeconds }) => {
    for (const seconds of [1, 2, 3, 4]) {
      await store.tokenRequests.bury(await asked(store), inSeconds(seconds), `death ${seconds}`)
    }
    assert.equal(await store.tokenRequests.sweep(inSeconds(60), 10), 0)
    assert.equal(await store.tokenRequests.sweepDead(inSeconds(4), 2), 2)
    assert.equal(await store.tokenRequests.sweepDead(inSeconds(4), 2), 1)
    const reasons = (await listed(store, 'dead')).map(({ reason }) => reason)
    assert.deepEqual(reasons, ['death 4'])
  })

  onNew(
    `lets ${maxWaitingRequests.toLocaleString('en')} requests wait and refuses more, for every address`,
    async ({ store }) => {
      const requests: TokenRequest[] = []
      while (requests.length < maxWaitingRequests) {
        requests.push(...(await Promise.all(range(25).map(() => asked(store)))))
      }
      assert.equal(await store.tokenRequests.ask(aTokenRequest()), 'full')
      const [waiting] = requests
      assert.ok(waiting)
      // Otherwise the answer would reveal that somebody else asked for this address.
      assert.equal(await store.tokenRequests.ask(aTokenRequest({ id: waiting.id })), 'full')
      await store.tokenRequests.settle(requests.slice(0, 100))
      assert.equal(await store.tokenRequests.ask(aTokenRequest()), 'asked')
    },
  )
}
