import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { SessionStore } from '../../application/ports/stores/session-store.ts'
import type { UserId } from '../../domain/ids.ts'
import { type Session, unknownTraits } from '../../domain/session.ts'
import { aSession } from '../builders.ts'
import { type Cases, range } from '../cases.ts'

const aUserId = (): UserId => randomUUID() as UserId

/** The promises of `SessionStore` in `application/ports`. */
export function sessionStoreContract({ on, onNew, assertSwept }: Cases<SessionStore>): void {
  /** A session that began and was last used now, by the store's clock. */
  async function begun(store: SessionStore, clock: () => Date, fields: Partial<Session> = {}): Promise<Session> {
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

  on('gives back every field of a session', async ({ store, second, clock }) => {
    const created = new Date(clock().getTime() - 7_123)
    for (const fields of [
      { createdAt: created },
      { idleSeconds: null, generation: 0, methods: [], ...unknownTraits },
    ]) {
      const session = await begun(store, clock, fields)
      assert.deepEqual(await store.find(session.digest), session)
      assert.deepEqual(await second.find(session.digest), session)
    }
  })

  on('stores many new sessions by one write, or none of them', async ({ store, second, clock }) => {
    if (store.putAll === undefined) return
    const now = clock()
    const fresh = (fields: Partial<Session> = {}) =>
      aSession({ createdAt: now, seenAt: now, endsAt: new Date(now.getTime() + 86_400_000), ...fields })
    const many = [fresh(), fresh({ idleSeconds: null, generation: 0, methods: [], ...unknownTraits }), fresh()]
    await store.putAll(many)
    for (const session of many) assert.deepEqual(await second.find(session.digest), session)

    const other = fresh()
    await assert.rejects(store.putAll([other, fresh({ userId: null as unknown as UserId })]))
    assert.equal(await store.find(other.digest), null)
  })

  on('ends one idle limit after its last use, and the use changes no other field', async ({ store, clock }) => {
    const session = await begun(store, clock, { idleSeconds: 60 })
    clock.advance(40)
    const seenAt = clock()
    await store.recordUse(session.digest, seenAt)
    assert.deepEqual(await store.find(session.digest), { ...session, seenAt })
    clock.advance(59)
    assert.deepEqual(await store.find(session.digest), { ...session, seenAt })
    assert.deepEqual(await store.listOf(session.userId), [{ ...session, seenAt }])
    clock.advance(1)
    assert.equal(await store.find(session.digest), null)
  })

  on('ignores a use that is older than the recorded one', async ({ store, clock, inSeconds }) => {
    const session = await begun(store, clock, { idleSeconds: 60 })
    const earlier = inSeconds(10)
    clock.advance(40)
    const seenAt = clock()
    await store.recordUse(session.digest, seenAt)
    await store.recordUse(session.digest, earlier)
    assert.deepEqual(await store.find(session.digest), { ...session, seenAt })
  })

  on('is not extended past its absolute end by a use', async ({ store, clock, inSeconds }) => {
    const session = await begun(store, clock, { idleSeconds: 60, endsAt: inSeconds(70) })
    clock.advance(50)
    await store.recordUse(session.digest, clock())
    clock.advance(19)
    assert.notEqual(await store.find(session.digest), null)
    clock.advance(1)
    assert.equal(await store.find(session.digest), null)
  })

  on('is not created or revived by a use', async ({ store, clock }) => {
    const [removed, idle, unknown] = [
      await begun(store, clock),
      await begun(store, clock, { idleSeconds: 60 }),
      aSession(),
    ]
    assert.equal(await store.remove(removed.digest), true)
    clock.advance(61)
    for (const { digest, userId } of [removed, idle, unknown]) {
      await store.recordUse(digest, clock())
      assert.equal(await store.find(digest), null)
      assert.deepEqual(await store.listOf(userId), [])
    }
  })

  on('is removed even if uses are recorded at the same time', async ({ store, second, clock }) => {
    const sessions = await Promise.all(range(64).map(() => begun(store, clock)))
    clock.advance(1)
    const at = clock()
    const outcomes = await Promise.all(
      sessions.flatMap(({ digest }) => [
        second.recordUse(digest, at),
        store.remove(digest),
        second.recordUse(digest, at),
      ]),
    )
    assert.equal(outcomes.filter((outcome) => outcome === true).length, sessions.length)
    for (const { digest, userId } of sessions) {
      assert.equal(await store.find(digest), null)
      assert.deepEqual(await store.listOf(userId), [])
    }
  })

  on(
    'is removed with all sessions of its user even if uses are recorded at the same time',
    async ({ store, second, clock }) => {
      const userId = aUserId()
      const sessions = await Promise.all(range(64).map(() => begun(store, clock, { userId })))
      clock.advance(1)
      const at = clock()
      await Promise.all([
        ...sessions.map(({ digest }) => second.recordUse(digest, at)),
        store.removeAllOf(userId),
        ...sessions.map(({ digest }) => second.recordUse(digest, at)),
      ])
      for (const { digest } of sessions) assert.equal(await store.find(digest), null)
      assert.deepEqual(await store.listOf(userId), [])
    },
  )

  on('is removed by exactly one of many concurrent calls', async ({ store, clock, atOnce }) => {
    const { digest } = await begun(store, clock)
    const outcomes = await atOnce(range(64), (one) => one.remove(digest))
    assert.equal(outcomes.filter((removed) => removed).length, 1)
    assert.equal(await store.find(digest), null)
  })

  on('answers false for the removal of an unknown or expired session', async ({ store, clock }) => {
    assert.equal(await store.remove(aSession().digest), false)
    const { digest } = await begun(store, clock, { idleSeconds: 60 })
    clock.advance(60)
    assert.equal(await store.remove(digest), false)
  })

  on('lists the live sessions of a user, and of no other user', async ({ store, second, clock, inSeconds }) => {
    const userId = aUserId()
    const live = [await begun(store, clock, { userId }), await begun(store, clock, { userId, idleSeconds: null })]
    const idle = await begun(store, clock, { userId, idleSeconds: 60 })
    const over = await begun(store, clock, { userId, endsAt: inSeconds(60) })
    const ended = await begun(store, clock, { userId })
    await begun(store, clock)
    assert.equal((await store.listOf(userId)).length, 5)
    await store.remove(ended.digest)
    clock.advance(60)
    const listed = (await second.listOf(userId)).map(({ digest }) => digest)
    assert.deepEqual([...listed].sort(), live.map(({ digest }) => digest).sort())
    for (const { digest } of [idle, over]) assert.equal(listed.includes(digest), false)
    assert.deepEqual(await store.listOf(aUserId()), [])
  })

  on('lists whole sessions, the newest first, and at most as many as are wanted', async ({ store, second, clock }) => {
    const userId = aUserId()
    const sessions: Session[] = []
    for (let count = 0; count < 4; count++) {
      clock.advance(1)
      // The order does not follow the absolute ends.
      const endsAt = new Date(clock().getTime() + (86_400 - count * 10_000) * 1000)
      sessions.unshift(await begun(store, clock, { userId, endsAt, ...(count === 3 && unknownTraits) }))
    }
    assert.deepEqual(await store.listOf(userId), sessions)
    for (const limit of [1, 3, 4, 5]) assert.deepEqual(await second.listOf(userId, limit), sessions.slice(0, limit))
  })

  on('has ended on one handle as soon as it was removed on the other', async ({ store, second, clock }) => {
    const { digest, userId } = await begun(store, clock)
    assert.notEqual(await second.find(digest), null)
    assert.equal(await store.remove(digest), true)
    assert.equal(await second.find(digest), null)
    assert.deepEqual(await second.listOf(userId), [])
  })

  on('removes all sessions of a user, and of no other user', async ({ store, clock }) => {
    const userId = aUserId()
    const bystander = await begun(store, clock)
    const sessions = await Promise.all(range(5).map(() => begun(store, clock, { userId })))
    await store.removeAllOf(userId)
    for (const { digest } of sessions) assert.equal(await store.find(digest), null)
    assert.deepEqual(await store.listOf(userId), [])
    assert.deepEqual(await store.find(bystander.digest), bystander)
  })

  onNew('sweeps at most the given number of ended sessions, and no live one', async ({ store, clock, inSeconds }) => {
    const live = [await begun(store, clock), await begun(store, clock, { idleSeconds: null })]
    const ended = [
      await begun(store, clock, { idleSeconds: 60 }),
      await begun(store, clock, { idleSeconds: 60 }),
      await begun(store, clock, { idleSeconds: null, endsAt: inSeconds(60) }),
      await begun(store, clock, { endsAt: inSeconds(60) }),
      await begun(store, clock, { endsAt: inSeconds(60) }),
    ]
    clock.advance(61)
    await assertSwept(store)
    for (const { digest } of ended) assert.equal(await store.find(digest), null)
    for (const session of live) {
      assert.deepEqual(await store.find(session.digest), session)
      assert.deepEqual(await store.listOf(session.userId), [session])
    }
  })
}
