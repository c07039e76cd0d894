import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { UsersRole } from '../../adapters/stores/store-backend.ts'
import { type Email, emailKey } from '../../domain/email.ts'
import { noFields } from '../../domain/fields.ts'
import type { User } from '../../domain/user.ts'
import { keysOf, unique } from '../../domain/user-record.ts'
import { anAccount, anEvent, aUser, idOfAnotherKind, someFactors } from '../builders.ts'
import { type Cases, range } from '../cases.ts'
import { callers, count, deliverAll, stored } from '../users-scene.ts'

/** A new address. `spelling` returns any of its 2^32 spellings, which all have one key. */
const freshAddress = (): Email => `abcdefghijklmnopqrstuvwxyzabcdef.${randomUUID().slice(0, 8)}@bücher.example` as Email

function spelling(address: Email, way: number): Email {
  const spelled = [...address].map((letter, at) => (at < 32 && (way >>> at) & 1 ? letter.toUpperCase() : letter))
  return spelled.join('') as Email
}

const inactive = () => ({
  isActive: false,
  inactiveUntil: new Date(Date.now() + 86_400_000),
  inactiveReason: 'Späm: \'1\' "2" 😀',
})

/** Shorter ids come first, as smaller numbers do. */
const byId = (one: User, other: User): number => one.id.length - other.id.length || (one.id < other.id ? -1 : 1)

/** The promises of `UserStore` in `application/ports`. */
export function userStoreContract({ on, onNew }: Cases<UsersRole>): void {
  on('gives back every field of a user as it was inserted', async ({ store: { users }, second }) => {
    for (const user of [
      aUser({ isSuperuser: true, factors: { ...someFactors(), isUnverified: true } }),
      aUser({ isSuperuser: false, isVerified: false, ...inactive() }),
      aUser({ passwordHash: null, sessions: { generation: 0, keptSid: null }, endedUntil: null, imported: null }),
    ]) {
      assert.equal(await users.insert(user, []), 'stored')
      assert.deepEqual(await users.find(user.id), user)
      assert.deepEqual(await users.findBy(unique.email(emailKey(user.email))), user)
      assert.deepEqual(await second.users.find(user.id), user)
    }
  })

  on('gives back every field of a user as it was replaced', async ({ store }) => {
    await stored(store, { isSuperuser: true }) // so that `before` is not the last one
    const before = await stored(store, { isSuperuser: true, factors: someFactors() })
    const after = aUser({
      id: before.id,
      passwordHash: null,
      passwordVersion: 4,
      ...inactive(),
      isSuperuser: false,
      isVerified: false,
      sessions: { generation: 8, keptSid: null },
      endedUntil: null,
      imported: null,
      version: before.version,
    })
    assert.equal(await store.users.replace(after, []), 'stored')
    assert.deepEqual(await store.users.find(before.id), { ...after, version: before.version + 1 })
    const back = { ...before, version: before.version + 1 }
    assert.equal(await store.users.replace(back, []), 'stored')
    assert.deepEqual(await store.users.find(before.id), { ...before, version: before.version + 2 })
  })

  on('finds a user by any spelling of the address, and keeps the spelling of its owner', async ({ store }) => {
    const address = freshAddress()
    const user = await stored(store, { email: spelling(address, 0b1011) })
    for (const way of [0, 1, 0xff]) {
      const found = await store.users.findBy(unique.email(emailKey(spelling(address, way))))
      assert.deepEqual(found, user)
    }
    const inAscii = address.replace('bücher.example', 'xn--bcher-kva.example') as Email
    assert.deepEqual(await store.users.findBy(unique.email(emailKey(inAscii))), user)
  })

  on('stores exactly one of many concurrent inserts of an address in any spelling', async ({ store, atOnce }) => {
    const address = freshAddress()
    const candidates = range(callers).map((way) => aUser({ email: spelling(address, way) }))
    const events = candidates.map((user) => anEvent(user))
    const outcomes = await atOnce(candidates, (one, user, at) => one.users.insert(user, events.slice(at, at + 1)))
    assert.equal(count(outcomes, 'stored'), 1)
    assert.equal(count(outcomes, 'email_taken'), callers - 1)
    const winner = candidates[outcomes.indexOf('stored')]
    assert.deepEqual(await store.users.findBy(unique.email(emailKey(address))), winner)
    const found = await Promise.all(candidates.map((user) => store.users.find(user.id)))
    const inserted = found.filter((user) => user !== null)
    assert.deepEqual(inserted, [winner])
    assert.deepEqual(await deliverAll(store.outbox), [events[outcomes.indexOf('stored')]])
  })

  on('stores many users by one write, or none of them if one key is taken', async ({ store: { users }, second }) => {
    if (users.insertAll === undefined) return
    const keyed = (key: string) => ({ ...noFields, shown: { handle: key, list: ['a'] }, keys: { handle: key } })
    const factors = someFactors()
    const many = [
      aUser({ isSuperuser: true, oauthAccounts: [anAccount(), anAccount()], fields: keyed(randomUUID()) }),
      aUser({ ...inactive(), isVerified: false, factors, fields: keyed(randomUUID()) }),
      aUser({ passwordHash: null, sessions: { generation: 0, keptSid: null }, endedUntil: null, imported: null }),
    ]
    assert.equal(await users.insertAll(many), true)
    for (const user of many) assert.deepEqual(await second.users.find(user.id), user)
    const [one] = many
    assert.ok(one)
    for (const user of many) for (const key of keysOf(user)) assert.deepEqual(await users.findBy(key), user)

    const address = freshAddress()
    for (const taking of [
      [aUser({ id: one.id })],
      [aUser({ email: one.email })],
      [aUser({ oauthAccounts: one.oauthAccounts })],
      [aUser({ fields: one.fields })],
      [aUser({ factors })],
      [aUser({ email: address }), aUser({ email: spelling(address, 5) })],
    ]) {
      const other = aUser()
      assert.equal(await users.insertAll([other, ...taking]), false)
      assert.equal(await users.find(other.id), null)
    }
    assert.deepEqual(await users.find(one.id), one)
  })

  on('lets exactly one of many concurrent replaces of the same version win', async ({ store, atOnce }) => {
    const user = await stored(store)
    const candidates = range(callers).map((at) => ({ ...user, passwordVersion: 100 + at }))
    const events = candidates.map((one) => anEvent(one))
    const outcomes = await atOnce(candidates, (one, user, at) => one.users.replace(user, events.slice(at, at + 1)))
    assert.equal(count(outcomes, 'stored'), 1)
    assert.equal(count(outcomes, 'stale'), callers - 1)
    const winner = candidates[outcomes.indexOf('stored')]
    assert.deepEqual(await store.users.find(user.id), { ...winner, version: user.version + 1 })
    assert.deepEqual(await deliverAll(store.outbox), [events[outcomes.indexOf('stored')]])
  })

  on('loses no update when callers retry after stale', async ({ store, atOnce }) => {
    const { id } = await stored(store, { passwordVersion: 0 })
    const increment = async ({ users }: UsersRole): Promise<void> => {
      for (let attempt = 0; attempt < 1000; attempt++) {
        const user = await users.find(id)
        assert.ok(user)
        const outcome = await users.replace({ ...user, passwordVersion: user.passwordVersion + 1 }, [])
        if (outcome === 'stored') return
        assert.equal(outcome, 'stale')
      }
      assert.fail('a fresh record was stale a thousand times')
    }
    await atOnce(range(16), increment)
    const user = await store.users.find(id)
    assert.equal(user?.passwordVersion, 16)
    assert.equal(user?.version, 17)
  })

  on('writes neither user nor event when a replaced version is stale', async ({ store }) => {
    const user = await stored(store)
    assert.equal(await store.users.replace(user, []), 'stored')
    const kept = await store.users.find(user.id)
    for (const version of [user.version, user.version + 2]) {
      const change = { ...user, version, email: freshAddress(), isActive: false }
      assert.equal(await store.users.replace(change, [anEvent(change)]), 'stale')
      assert.equal(await store.users.findBy(unique.email(emailKey(change.email))), null)
      assert.equal(await store.users.insert(aUser({ email: change.email }), []), 'stored')
    }
    assert.deepEqual(await store.users.find(user.id), kept)
    assert.deepEqual(await store.users.findBy(unique.email(emailKey(user.email))), kept)
    assert.deepEqual(await deliverAll(store.outbox), [])
  })

  on('writes neither user nor event when a replaced address is taken', async ({ store }) => {
    const owner = await stored(store)
    const user = await stored(store)
    const change = { ...user, email: owner.email, isActive: false }
    assert.equal(await store.users.replace(change, [anEvent(change)]), 'email_taken')
    assert.deepEqual(await store.users.find(user.id), user)
    assert.deepEqual(await store.users.findBy(unique.email(emailKey(user.email))), user)
    assert.deepEqual(await store.users.findBy(unique.email(emailKey(owner.email))), owner)
    assert.deepEqual(await deliverAll(store.outbox), [])
  })

  on('stores another spelling of the user’s own address', async ({ store }) => {
    const address = freshAddress()
    const user = await stored(store, { email: address })
    const change = { ...user, email: spelling(address, 0b101) }
    assert.equal(await store.users.replace(change, []), 'stored')
    assert.equal((await store.users.findBy(unique.email(emailKey(address))))?.email, change.email)
  })

  on('gives an address to exactly one of many users who move to it at once', async ({ store, atOnce }) => {
    const address = freshAddress()
    const movers = await Promise.all(range(16).map(() => stored(store)))
    const created = range(16).map((way) => aUser({ email: spelling(address, way) }))
    const moved = movers.map((user) => ({ ...user, email: address }))
    const outcomes = await atOnce([...moved, ...created], ({ users }, user, at) =>
      at < 16 ? users.replace(user, []) : users.insert(user, []),
    )
    assert.equal(count(outcomes, 'stored'), 1)
    assert.equal(count(outcomes, 'email_taken'), 31)
  })

  on('releases the address that a replace gives up', async ({ store }) => {
    const user = await stored(store)
    assert.equal(await store.users.replace({ ...user, email: freshAddress() }, []), 'stored')
    assert.equal(await store.users.findBy(unique.email(emailKey(user.email))), null)
    const next = await stored(store, { email: user.email })
    assert.deepEqual(await store.users.findBy(unique.email(emailKey(user.email))), next)
  })

  on('releases the address of a removed user while its events wait', async ({ store }) => {
    const user = aUser()
    const [registered, deleted] = [anEvent(user), anEvent(user, { type: 'deleted' })]
    assert.equal(await store.users.insert(user, [registered]), 'stored')
    assert.equal(await store.users.remove(user, [deleted]), 'removed')
    assert.equal(await store.users.find(user.id), null)
    assert.equal(await store.users.findBy(unique.email(emailKey(user.email))), null)
    const next = await stored(store, { email: user.email })
    assert.deepEqual(await store.users.findBy(unique.email(emailKey(user.email))), next)
    assert.deepEqual(await deliverAll(store.outbox), [registered, deleted])
    assert.deepEqual(await store.users.find(next.id), next)
  })

  on('removes a user for exactly one of many concurrent calls', async ({ store, atOnce }) => {
    const user = await stored(store)
    const events = range(callers).map(() => anEvent(user, { type: 'deleted' }))
    const outcomes = await atOnce(events, (one, event) => one.users.remove(user, [event]))
    assert.equal(count(outcomes, 'removed'), 1)
    assert.equal(count(outcomes, 'stale'), callers - 1)
    assert.deepEqual(await deliverAll(store.outbox), [events[outcomes.indexOf('removed')]])
  })

  on('either replaces or removes a version, never both', async ({ store, second }) => {
    const rounds = await Promise.all(range(16).map(() => stored(store)))
    for (const user of rounds) {
      const [replaced, removed] = await Promise.all([
        store.users.replace({ ...user, isActive: false }, []),
        second.users.remove(user, [anEvent(user, { type: 'deleted' })]),
      ])
      assert.equal(replaced === 'stored', removed === 'stale', `replace ${replaced}, remove ${removed}`)
      assert.equal((await store.users.find(user.id)) === null, removed === 'removed')
    }
  })

  on('removes no user and writes no event when the version is stale', async ({ store }) => {
    const user = await stored(store)
    assert.equal(await store.users.replace(user, []), 'stored')
    assert.equal(await store.users.remove(user, [anEvent(user, { type: 'deleted' })]), 'stale')
    assert.equal((await store.users.find(user.id))?.version, user.version + 1)
    assert.deepEqual(await deliverAll(store.outbox), [])
  })

  on('finds nobody by an id of another kind', async ({ store }) => {
    assert.equal(await store.users.find(idOfAnotherKind(await stored(store))), null)
  })

  onNew('lists each user once in the order of ids, and no removed one', async ({ store, second }) => {
    const factors = someFactors()
    const users = [await stored(store), await stored(store), await stored(store, { factors }), await stored(store)]
    const [removed, ...others] = users.sort(byId)
    assert.ok(removed)
    const first = await store.users.list(2, null)
    assert.deepEqual(first, { items: users.slice(0, 2), next: users[1]?.id })
    const rest = await second.users.list(2, first.next)
    assert.deepEqual(rest.items, users.slice(2))
    if (rest.next !== null) assert.deepEqual(await store.users.list(2, rest.next), { items: [], next: null })
    assert.equal(await store.users.remove(removed, [anEvent(removed, { type: 'deleted' })]), 'removed')
    assert.deepEqual((await store.users.list(9, null)).items, others)
  })

  onNew('lists each algorithm and cost among the stored hashes once', async ({ store }) => {
    assert.deepEqual(await store.users.passwordSchemes(), [])
    const cheap = '$argon2id$v=19$m=19456,t=2,p=1'
    const dear = '$argon2id$v=19$m=65536,t=3,p=4'
    const bcrypt = '$2b$12'
    const salted = `$c2FsdHNhbHRzYWx0$${randomUUID()}`
    await stored(store, { passwordHash: null })
    await stored(store, { passwordHash: `${cheap}${salted}` })
    await stored(store, { passwordHash: `${cheap}${salted}2` })
    const hashedByBcrypt = await stored(store, {
      passwordHash: `${bcrypt}$R9h/cIPz0gi.URNNX3kh2OPST9/PgBkqquzi.Ss7KIUgO2t0jWMUW`,
    })
    const user = await stored(store, { passwordHash: `${dear}${salted}` })
    assert.deepEqual([...(await store.users.passwordSchemes())].sort(), [cheap, dear, bcrypt].sort())
    assert.equal(await store.users.replace({ ...user, passwordHash: `${cheap}${salted}` }, []), 'stored')
    assert.deepEqual([...(await store.users.passwordSchemes())].sort(), [cheap, bcrypt].sort())
    assert.equal(await store.users.remove(hashedByBcrypt, [anEvent(hashedByBcrypt, { type: 'deleted' })]), 'removed')
    assert.deepEqual(await store.users.passwordSchemes(), [cheap])
  })
}
