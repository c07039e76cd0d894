import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { SessionStore } from '../../application/ports/stores/session-store.ts'
import type { UserId } from '../../domain/ids.ts'
import type { Session } from '../../domain/session.ts'
import { aSession } from '../builders.ts'
import type { ContractCase } from '../contract.ts'
import type { FixedClock } from '../fixed-clock.ts'
import { afresh, type Open, type OpenedSessions, type SweepOptions, shared } from './store-under-test.ts'

const aUserId = (): UserId => randomUUID() as UserId

/** The promises of `SessionStore` in `application/ports`. */
export function sessionStoreContract(
  open: Open<OpenedSessions>,
  { sweeps }: SweepOptions = { sweeps: true },
): ContractCase[] {
  const opened = shared(open)

  const on = (
    title: string,
    act: (store: SessionStore, clock: FixedClock, second: SessionStore) => Promise<void>,
  ): ContractCase => ({
    title,
    async run() {
      const { store, clock, second } = await opened()
      await act(store, clock, await second())
    },
  })

  /** A session that began and was last used now, by the store's clock. */
  async function begun(store: SessionStore, clock: FixedClock, fields: Partial<Session> = {}): Promise<Session> {
    const now = clock()
    const session = aSession({
      createdAt: now,
      seenAt: now,
      idleSeconds: 3_600,
      endsAt: new Date(now.getTime() + 86_400_000),
      ...fields,
    })
    await store.put(session)
    return session
  }

  const inSeconds = (clock: FixedClock, seconds: number): Date => new Date(clock().getTime() + seconds * 1000)

  return [
    on('gives back every field of a session', async (store, clock, second) => {
      const created = new Date(clock().getTime() - 7_123)
      for (const fields of [{ createdAt: created }, { idleSeconds: null, generation: 0 }]) {
        const session = await begun(store, clock, fields)
        assert.deepEqual(await store.find(session.digest), session)
        assert.deepEqual(await second.find(session.digest), session)
      }
    }),

    on('answers null for an unknown digest', async (store) => {
      assert.equal(await store.find(aSession().digest), null)
    }),

    on('ends a session at its absolute end, whether it idles out or not', async (store, clock) => {
      const endsAt = inSeconds(clock, 60)
      const sessions = [await begun(store, clock, { endsAt }), await begun(store, clock, { endsAt, idleSeconds: null })]
      clock.advance(59)
      for (const { digest } of sessions) assert.notEqual(await store.find(digest), null)
      clock.advance(1)
      for (const { digest } of sessions) assert.equal(await store.find(digest), null)
    }),

    on('ends a session that is not used for its idle limit', async (store, clock) => {
      const { digest } = await begun(store, clock, { idleSeconds: 60 })
      clock.advance(59)
      assert.notEqual(await store.find(digest), null)
      clock.advance(1)
      assert.equal(await store.find(digest), null)
    }),

    on('lives on without use when it has no idle limit', async (store, clock) => {
      const { digest } = await begun(store, clock, { idleSeconds: null })
      clock.advance(86_399)
      assert.notEqual(await store.find(digest), null)
    }),

    on('lives an idle limit longer after a touch, which changes nothing else', async (store, clock) => {
      const session = await begun(store, clock, { idleSeconds: 60 })
      clock.advance(40)
      const seenAt = clock()
      await store.recordUse(session.digest, seenAt)
      assert.deepEqual(await store.find(session.digest), { ...session, seenAt })
      clock.advance(59)
      assert.deepEqual(await store.find(session.digest), { ...session, seenAt })
      assert.deepEqual(await store.listOf(session.userId), [session.digest])
      clock.advance(1)
      assert.equal(await store.find(session.digest), null)
    }),

    on('is not seen earlier than it was by a touch that comes late', async (store, clock) => {
      const session = await begun(store, clock, { idleSeconds: 60 })
      const earlier = inSeconds(clock, 10)
      clock.advance(40)
      const seenAt = clock()
      await store.recordUse(session.digest, seenAt)
      await store.recordUse(session.digest, earlier)
      assert.deepEqual(await store.find(session.digest), { ...session, seenAt })
    }),

    on('is not carried past its absolute end by a touch', async (store, clock) => {
      const session = await begun(store, clock, { idleSeconds: 60, endsAt: inSeconds(clock, 70) })
      clock.advance(50)
      await store.recordUse(session.digest, clock())
      clock.advance(19)
      assert.notEqual(await store.find(session.digest), null)
      clock.advance(1)
      assert.equal(await store.find(session.digest), null)
    }),

    on('is not brought back by a touch after it was removed', async (store, clock) => {
      const session = await begun(store, clock)
      assert.equal(await store.remove(session.digest), true)
      await store.recordUse(session.digest, clock())
      assert.equal(await store.find(session.digest), null)
      assert.deepEqual(await store.listOf(session.userId), [])
    }),

    on('is not brought back by a touch after it idled out', async (store, clock) => {
      const session = await begun(store, clock, { idleSeconds: 60 })
      clock.advance(61)
      await store.recordUse(session.digest, clock())
      assert.equal(await store.find(session.digest), null)
      assert.deepEqual(await store.listOf(session.userId), [])
    }),

    on('is never created by a touch', async (store, clock) => {
      const { digest } = aSession()
      await store.recordUse(digest, clock())
      assert.equal(await store.find(digest), null)
    }),

    on('never outlives a removal that races touches', async (store, clock, second) => {
      const sessions = await Promise.all(Array.from({ length: 64 }, () => begun(store, clock)))
      clock.advance(1)
      const at = clock()
      const removed = await Promise.all(
        sessions.map(async ({ digest }) => {
          const [, outcome] = await Promise.all([
            second.recordUse(digest, at),
            store.remove(digest),
            second.recordUse(digest, at),
          ])
          return outcome
        }),
      )
      assert.deepEqual(new Set(removed), new Set([true]))
      for (const { digest, userId } of sessions) {
        assert.equal(await store.find(digest), null)
        assert.deepEqual(await store.listOf(userId), [])
      }
    }),

    on('never outlives the removal of all of a user that races touches', async (store, clock, second) => {
      const userId = aUserId()
      const sessions = await Promise.all(Array.from({ length: 64 }, () => begun(store, clock, { userId })))
      clock.advance(1)
      const at = clock()
      await Promise.all([
        ...sessions.map(({ digest }) => second.recordUse(digest, at)),
        store.removeAllOf(userId),
        ...sessions.map(({ digest }) => second.recordUse(digest, at)),
      ])
      for (const { digest } of sessions) assert.equal(await store.find(digest), null)
      assert.deepEqual(await store.listOf(userId), [])
    }),

    on('is ended by exactly one of many concurrent removes', async (store, clock, second) => {
      const { digest } = await begun(store, clock)
      const outcomes = await Promise.all(
        Array.from({ length: 64 }, (_, at) => (at % 2 ? store : second).remove(digest)),
      )
      assert.equal(outcomes.filter((removed) => removed).length, 1)
      assert.equal(await store.find(digest), null)
    }),

    on('is ended by nobody when it was unknown or had ended by itself', async (store, clock) => {
      assert.equal(await store.remove(aSession().digest), false)
      const { digest } = await begun(store, clock, { idleSeconds: 60 })
      clock.advance(60)
      assert.equal(await store.remove(digest), false)
    }),

    on("lists a user's live sessions, and nobody else's", async (store, clock, second) => {
      const userId = aUserId()
      const live = [await begun(store, clock, { userId }), await begun(store, clock, { userId, idleSeconds: null })]
      const idle = await begun(store, clock, { userId, idleSeconds: 60 })
      const over = await begun(store, clock, { userId, endsAt: inSeconds(clock, 60) })
      const ended = await begun(store, clock, { userId })
      await begun(store, clock)
      assert.equal((await store.listOf(userId)).length, 5)
      await store.remove(ended.digest)
      clock.advance(60)
      const listed = await second.listOf(userId)
      assert.deepEqual([...listed].sort(), live.map(({ digest }) => digest).sort())
      for (const { digest } of [idle, over]) assert.equal(listed.includes(digest), false)
      assert.deepEqual(await store.listOf(aUserId()), [])
    }),

    on('ends all sessions of a user and of no other user', async (store, clock) => {
      const userId = aUserId()
      const bystander = await begun(store, clock)
      const sessions = await Promise.all(Array.from({ length: 5 }, () => begun(store, clock, { userId })))
      await store.removeAllOf(userId)
      for (const { digest } of sessions) assert.equal(await store.find(digest), null)
      assert.deepEqual(await store.listOf(userId), [])
      assert.deepEqual(await store.find(bystander.digest), bystander)
    }),

    {
      title: 'sweeps at most so many ended sessions, and no live one',
      run: () =>
        afresh(open, async ({ store, clock }) => {
          const live = [await begun(store, clock), await begun(store, clock, { idleSeconds: null })]
          const ended = [
            await begun(store, clock, { idleSeconds: 60 }),
            await begun(store, clock, { idleSeconds: 60 }),
            await begun(store, clock, { idleSeconds: null, endsAt: inSeconds(clock, 60) }),
            await begun(store, clock, { endsAt: inSeconds(clock, 60) }),
            await begun(store, clock, { endsAt: inSeconds(clock, 60) }),
          ]
          clock.advance(61)
          const swept = [await store.sweep(3), await store.sweep(3), await store.sweep(3)]
          if (sweeps) assert.deepEqual(swept, [3, 2, 0])
          for (const { digest } of ended) assert.equal(await store.find(digest), null)
          for (const session of live) {
            assert.deepEqual(await store.find(session.digest), session)
            assert.deepEqual(await store.listOf(session.userId), [session.digest])
          }
        }),
    },
  ]
}
