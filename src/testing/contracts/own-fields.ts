import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { UsersRole } from '../../adapters/stores/store-backend.ts'
import { emailKey } from '../../domain/email.ts'
import { noFields, type UserFields } from '../../domain/fields.ts'
import type { User } from '../../domain/user.ts'
import { unique } from '../../domain/user-record.ts'
import { anEvent, aUser, someFactors } from '../builders.ts'
import { type Cases, range } from '../cases.ts'
import { count, deliverAll, replaced, stored } from '../users-scene.ts'

/** Number of concurrent callers in the cases about races. */
const writers = 64

/** Fields with these keys, and with their texts as values. */
const keyed = (keys: Readonly<Record<string, string>>): UserFields => ({ ...noFields, shown: keys, keys })
const handle = (): string => `handle-${randomUUID()}`

/** The promises of `UserStore` in `application/ports` about the fields that the deployer declares. */
export function ownFieldsContract({ on }: Cases<UsersRole>): void {
  const holderOf = ({ users }: UsersRole, key: string, field = 'handle'): Promise<User | null> =>
    users.findBy(unique.field(field, key))

  on('gives back every value of every part as inserted and as replaced', async ({ store, second }) => {
    const values = {
      text: 'Ada “ü” 𝒜 \\ " \' $ \u2028 \n',
      empty: '',
      number: -1.5e-7,
      large: Number.MAX_SAFE_INTEGER,
      zero: 0,
      yes: true,
      no: false,
      none: null,
      list: ['a', '', 'ü'],
      nothing: [],
      constructor_: 'no prototype',
    }
    const fields = { shown: values, hidden: { secret: 'x', none: null }, retired: values, keys: { handle: handle() } }
    const user = await stored(store, { fields })
    assert.deepEqual(await store.users.find(user.id), user)
    assert.deepEqual(await store.users.findBy(unique.email(emailKey(user.email))), user)
    assert.deepEqual(await holderOf(second, fields.keys.handle), user)
    const changed = await replaced(store, user, { fields: { ...fields, shown: { text: 'b' }, hidden: values } })
    assert.deepEqual(await second.users.find(user.id), changed)
    const without = await replaced(store, changed, { fields: noFields })
    assert.deepEqual(await store.users.find(user.id), without)
    assert.equal(await holderOf(store, fields.keys.handle), null)
  })

  on('distinguishes keys by the exact field and text', async ({ store }) => {
    const text = handle()
    const keys = [
      { handle: text },
      { other: text },
      { Handle: text },
      { handle: text.toUpperCase() },
      { handle: ` ${text}` },
      { handle: `é${text}` },
      { handle: `e\u0301${text}` },
      { a: `b:${text}` },
    ]
    const owners: User[] = []
    for (const one of keys) owners.push(await stored(store, { fields: keyed(one) }))
    for (const [at, one] of keys.entries()) {
      for (const [field, key] of Object.entries(one)) assert.deepEqual(await holderOf(store, key, field), owners[at])
    }
  })

  on('stores exactly one of many concurrent inserts of a key', async ({ store, atOnce }) => {
    const fields = keyed({ handle: handle() })
    const candidates = range(writers).map(() => aUser({ fields }))
    const events = candidates.map((user) => anEvent(user))
    const outcomes = await atOnce(candidates, (one, user, at) => one.users.insert(user, events.slice(at, at + 1)))
    assert.equal(count(outcomes, 'stored'), 1)
    assert.equal(count(outcomes, 'field_taken'), writers - 1)
    const winner = candidates[outcomes.indexOf('stored')]
    assert.deepEqual(await holderOf(store, fields.keys.handle ?? ''), winner)
    for (const user of candidates) {
      const wanted = user === winner ? user : null
      assert.deepEqual(await store.users.find(user.id), wanted)
      assert.deepEqual(await store.users.findBy(unique.email(emailKey(user.email))), wanted)
    }
    assert.deepEqual(await deliverAll(store.outbox), [events[outcomes.indexOf('stored')]])
  })

  on('gives a key to exactly one of many users who take it at once', async ({ store, atOnce }) => {
    const fields = keyed({ handle: handle() })
    const movers = await Promise.all(range(writers / 2).map(() => stored(store)))
    const moved = movers.map((user) => ({ ...user, fields }))
    const created = range(writers / 2).map(() => aUser({ fields }))
    const outcomes = await atOnce([...moved, ...created], ({ users }, user, at) =>
      at < moved.length ? users.replace(user, []) : users.insert(user, []),
    )
    assert.equal(count(outcomes, 'stored'), 1)
    assert.equal(count(outcomes, 'field_taken'), writers - 1)
    const found = await Promise.all(movers.map(({ id }) => store.users.find(id)))
    const holder = await holderOf(store, fields.keys.handle ?? '')
    for (const [at, user] of found.entries()) assert.deepEqual(user, outcomes[at] === 'stored' ? holder : movers[at])
  })

  on('gives two keys to the same one of two users who take both at once', async ({ store, second }) => {
    for (let round = 0; round < 8; round++) {
      const [one, other] = [handle(), handle()]
      const users = await Promise.all([stored(store), stored(store)])
      const outcomes = await Promise.all([
        store.users.replace({ ...users[0], fields: keyed({ a: one, b: other }) }, []),
        second.users.replace({ ...users[1], fields: keyed({ b: other, a: one }) }, []),
      ])
      assert.deepEqual([...outcomes].sort(), ['field_taken', 'stored'])
      const winner = users[outcomes.indexOf('stored')]
      assert.ok(winner)
      assert.equal((await holderOf(store, one, 'a'))?.id, winner.id)
      assert.equal((await holderOf(store, other, 'b'))?.id, winner.id)
    }
  })

  on('writes neither user nor event when a key is taken', async ({ store }) => {
    const fields = keyed({ handle: handle() })
    const owner = await stored(store, { fields })
    const user = await stored(store)
    const late = aUser({ fields })
    assert.equal(await store.users.insert(late, [anEvent(late)]), 'field_taken')
    assert.equal(await store.users.find(late.id), null)
    const free = handle()
    const change = { ...user, email: aUser().email, fields: keyed({ ...fields.keys, free }) }
    assert.equal(await store.users.replace(change, [anEvent(user)]), 'field_taken')
    assert.deepEqual(await store.users.find(user.id), user)
    assert.equal(await holderOf(store, free, 'free'), null)
    assert.deepEqual(await holderOf(store, fields.keys.handle ?? ''), owner)
    assert.deepEqual(await deliverAll(store.outbox), [])
  })

  on(
    'answers with the address, then the account, then the field, then the passkey that is taken',
    async ({ store }) => {
      const { email, oauthAccounts, fields, factors } = await stored(store, { factors: someFactors() })
      const user = await stored(store)
      assert.equal(await store.users.insert(aUser({ email, oauthAccounts, fields, factors }), []), 'email_taken')
      assert.equal(await store.users.insert(aUser({ oauthAccounts, fields, factors }), []), 'account_taken')
      assert.equal(await store.users.insert(aUser({ fields, factors }), []), 'field_taken')
      assert.equal(await store.users.insert(aUser({ factors }), []), 'passkey_taken')
      assert.equal(await store.users.replace({ ...user, email, fields }, []), 'email_taken')
      assert.equal(await store.users.replace({ ...user, oauthAccounts, fields }, []), 'account_taken')
      assert.equal(await store.users.replace({ ...user, fields, factors }, []), 'field_taken')
      assert.equal(await store.users.replace({ ...user, factors }, []), 'passkey_taken')
      assert.equal(await store.users.replace({ ...user, version: user.version + 1, fields }, []), 'stale')
    },
  )

  on('releases a key that a user gives up, or whose user is removed', async ({ store, second }) => {
    const [former, key] = [handle(), handle()]
    const user = await stored(store, { fields: keyed({ handle: former }) })
    const moved = await replaced(store, user, { fields: keyed({ handle: key }) })
    assert.equal(await holderOf(second, former), null)
    assert.deepEqual(await holderOf(second, key), moved)
    const next = await stored(store, { fields: keyed({ handle: former }) })
    assert.equal(await store.users.remove(moved, [anEvent(moved, { type: 'deleted' })]), 'removed')
    assert.equal(await holderOf(second, key), null)
    const last = await replaced(store, next, { fields: keyed({ handle: key }) })
    assert.deepEqual(await holderOf(second, key), last)
    assert.equal((await deliverAll(store.outbox)).length, 1)
  })
}
