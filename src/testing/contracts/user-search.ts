import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { UsersRole } from '../../adapters/stores/store-backend.ts'
import { type Email, emailKey } from '../../domain/email.ts'
import { type Factors, hasFactor, noFactors } from '../../domain/factors.ts'
import { noFields } from '../../domain/fields.ts'
import type { UserId } from '../../domain/ids.ts'
import type { User } from '../../domain/user.ts'
import { type FoundUser, type KeyPrefix, meets, type UserCriteria } from '../../domain/user-criteria.ts'
import { anEvent, someFactors } from '../builders.ts'
import { type Cases, range } from '../cases.ts'
import { replaced, stored } from '../users-scene.ts'

const address = (local: string): Email => `${local}@bücher.example` as Email
const keyed = (handle: string) => ({ ...noFields, keys: { handle } })
const byEmail = (text: string): KeyPrefix => ({ field: null, text })
const byHandle = (text: string): KeyPrefix => ({ field: 'handle', text })

/** Every user that a search finds, in pages of this size. */
async function everyFound({ users }: UsersRole, criteria: UserCriteria, limit = 3): Promise<FoundUser[]> {
  const all: FoundUser[] = []
  let after: string | null = null
  for (let pages = 0; pages < 100; pages++) {
    const page = await users.search(criteria, limit, after)
    assert.ok(page !== 'bad_cursor')
    assert.ok(page.items.length <= limit)
    all.push(...page.items)
    if (page.next === null) return all
    after = page.next
  }
  assert.fail('the search does not end')
}

/** Of a third of the users: a passkey or codes, some with a reset that is due then, later, or never. */
function factorsOf(at: number, due: Date): Factors {
  if (at % 6 >= 2) return noFactors
  const factors = { ...someFactors(), ...(at % 2 === 0 ? { totp: null } : { passkeys: [] }) }
  if (at % 12 < 2) return { ...factors, resetAt: due.getTime() }
  return at % 24 < 18 ? factors : { ...factors, resetAt: null }
}

const idsOf = (found: readonly FoundUser[]): readonly UserId[] => found.map(({ user }) => user.id)
const sorted = <T>(ids: readonly T[]): T[] => [...ids].sort()

/** The promises of `search` and `count` of `UserStore` in `application/ports`. */
export function userSearchContract({ onNew }: Cases<UsersRole>): void {
  onNew('finds exactly the users that meet all criteria, each of them once', async (scene) => {
    const { store, second, inSeconds } = scene
    const all: FoundUser[] = []
    // Many have the same time, as after an import.
    for (const at of range(24)) {
      const user = await stored(store, {
        email: address(`${at % 3 === 0 ? 'Ada' : 'bob'}.${at}`),
        isActive: at % 4 !== 1,
        inactiveUntil: at % 8 === 1 ? inSeconds(10) : null,
        isSuperuser: at % 5 === 0,
        isVerified: at % 2 === 0,
        factors: factorsOf(at, inSeconds(10)),
        fields: keyed(`${at % 7 === 0 ? 'ada' : 'carl'}-${at}`),
        createdAt: inSeconds(Math.floor(at / 8)),
      })
      const lastLoginAt = at % 4 === 3 ? null : inSeconds(100 + (at % 3))
      if (lastLoginAt !== null) await store.loginTimes.recordLogin(user.id, lastLoginAt)
      all.push({ user, lastLoginAt })
    }
    const flags = ['isActive', 'isSuperuser', 'isVerified', 'hasFactor'] as const
    const single: UserCriteria[] = [
      {},
      ...flags.flatMap((flag) => [{ [flag]: true }, { [flag]: false }]),
      ...[9, 10].flatMap((at) => [true, false].map((is) => ({ isActive: is, now: inSeconds(at) }))),
      ...[9, 10].flatMap((at) => [true, false].map((hasFactor) => ({ hasFactor, now: inSeconds(at) }))),
      { createdAfter: inSeconds(1) },
      { createdBefore: inSeconds(1) },
      { createdAfter: inSeconds(1), createdBefore: inSeconds(2) },
      { lastLoginBefore: inSeconds(101) },
      { prefix: byEmail('ada.') },
      { prefix: byEmail('ada.1') },
      { prefix: byHandle('ada') },
      { prefix: byHandle('ada'), exceptPrefixes: [byEmail('ada')] },
      { prefix: byEmail('bob'), exceptPrefixes: [byHandle('ada'), byHandle('carl-1')] },
      { prefix: byEmail('nobody') },
      { prefix: { field: 'other', text: '' } },
    ]
    const combined = single.flatMap((one, at) => single.slice(at + 1).map((other) => ({ ...one, ...other })))
    for (const criteria of [...single, ...combined]) {
      const wanted = all.filter((one) => meets(one, criteria))
      const found = await everyFound(store, criteria, single.includes(criteria) ? 3 : 9)
      const about = JSON.stringify(criteria)
      assert.deepEqual(sorted(idsOf(found)), sorted(idsOf(wanted)), about)
      for (const one of found)
        assert.deepEqual(
          one,
          all.find(({ user }) => user.id === one.user.id),
        )
      assert.deepEqual(await second.users.count(criteria, 100), { count: wanted.length, isComplete: true }, about)
    }
  })

  onNew('counts up to a bound', async ({ store: { users, ...store } }) => {
    for (const _ of range(5)) await stored({ users, ...store }, { isActive: false })
    assert.deepEqual(await users.count({}, 5), { count: 5, isComplete: true })
    assert.deepEqual(await users.count({}, 4), { count: 4, isComplete: false })
    const { count, isComplete } = await users.count({ isActive: false, isVerified: true }, 4)
    assert.ok(count <= 4 && !isComplete)
  })

  onNew('compares keys by their letters, and takes no letter for a pattern', async ({ store }) => {
    const emails = ['a%b', 'a_b', 'a.b', 'a*b', 'ab', 'é', 'e\u0301x', 'σ', '𝒜', '\ud7ff'].map((one) =>
      address(`${one}1`),
    )
    const users: User[] = []
    for (const email of emails) users.push(await stored(store, { email, fields: keyed(email) }))
    for (const user of users) {
      const text = emailKey(user.email).slice(0, emailKey(user.email).indexOf('1'))
      const wanted = users.filter(({ email }) => emailKey(email).startsWith(text))
      const found = await everyFound(store, { prefix: byEmail(text) }, 2)
      assert.deepEqual(sorted(idsOf(found)), sorted(wanted.map(({ id }) => id)), text)
      const ofField = await everyFound(store, { prefix: byHandle(user.email.slice(0, 2)) }, 2)
      const wantedOfField = users.filter(({ email }) => email.startsWith(user.email.slice(0, 2)))
      assert.deepEqual(sorted(idsOf(ofField)), sorted(wantedOfField.map(({ id }) => id)), text)
    }
  })

  onNew('finds the present state of a user, and no removed one', async ({ store, second, inSeconds }) => {
    const user = await stored(store, { email: address('before'), isVerified: false, fields: keyed('before') })
    const changes = {
      email: address('after'),
      isActive: false,
      isVerified: true,
      isSuperuser: true,
      fields: keyed('after'),
    }
    const change = { ...changes, factors: { ...someFactors(), resetAt: null } }
    await second.loginTimes.recordLogin(user.id, inSeconds(5))
    const changed = await replaced(store, user, change)
    assert.ok(hasFactor(changed))
    const old: UserCriteria[] = [
      { isActive: true },
      { isVerified: false },
      { isSuperuser: false },
      { hasFactor: false },
      { prefix: byEmail('before') },
      { prefix: byHandle('before') },
      { lastLoginBefore: inSeconds(5) },
    ]
    for (const criteria of old) assert.deepEqual(await everyFound(second, criteria), [], JSON.stringify(criteria))
    const now: UserCriteria[] = [
      {},
      { isActive: false },
      { isVerified: true },
      { isSuperuser: true },
      { hasFactor: true },
      { prefix: byEmail('after') },
      { prefix: byHandle('after') },
      { lastLoginBefore: inSeconds(6) },
      { createdBefore: inSeconds(3600) },
    ]
    const found = [{ user: changed, lastLoginAt: inSeconds(5) }]
    for (const criteria of now) assert.deepEqual(await everyFound(second, criteria), found, JSON.stringify(criteria))
    assert.equal(await store.users.remove(changed, [anEvent(changed, { type: 'deleted' })]), 'removed')
    for (const criteria of now) {
      assert.deepEqual(await everyFound(second, criteria), [], JSON.stringify(criteria))
      assert.deepEqual(await second.users.count(criteria, 9), { count: 0, isComplete: true })
    }
  })

  onNew('shows users who do not change exactly once while others come, change and go', async (scene) => {
    const { store, second, inSeconds } = scene
    const still: User[] = []
    const others: User[] = []
    const one = (at: number) => ({ email: address(`u${at % 10}.${randomUUID()}`), createdAt: inSeconds(at % 3) })
    for (const at of range(40)) (at % 2 === 0 ? still : others).push(await stored(store, one(at)))
    for (const { id } of [...still, ...others]) await store.loginTimes.recordLogin(id, inSeconds(1))
    const searches: UserCriteria[] = [
      {},
      { isVerified: true },
      { createdBefore: inSeconds(9) },
      { lastLoginBefore: inSeconds(9) },
      { prefix: byEmail('u') },
      { createdBefore: inSeconds(9), isVerified: true },
    ]
    for (const criteria of searches) {
      let after: string | null = null
      const seen: UserId[] = []
      for (let page = 0; page < 100; page++) {
        const found = await store.users.search(criteria, 3, after)
        assert.ok(found !== 'bad_cursor')
        seen.push(...idsOf(found.items))
        if (found.next === null) break
        after = found.next
        const leaving = others.shift()
        const [moving] = others
        if (leaving) await second.users.remove(leaving, [anEvent(leaving, { type: 'deleted' })])
        if (moving) others[0] = await replaced(second, moving, { email: one(page).email, isVerified: page % 2 === 0 })
        others.push(await stored(second, one(page)))
      }
      for (const { id } of still) {
        assert.equal(seen.filter((found) => found === id).length, 1, JSON.stringify(criteria))
      }
    }
  })

  onNew('refuses texts that are no cursors', async ({ store }) => {
    await stored(store)
    await stored(store)
    const texts = [
      '',
      'x',
      '0',
      'null',
      '{}',
      '[]',
      '[null]',
      '[null,1]',
      '[null,null]',
      '[null,"x"]',
      '[1e99,"x"]',
      '\0',
    ]
    for (const text of texts) {
      for (const criteria of [{}, { createdAfter: new Date(0) }, { prefix: byEmail('a') }]) {
        assert.equal(await store.users.search(criteria, 1, text), 'bad_cursor', `${text} ${JSON.stringify(criteria)}`)
      }
    }
  })
}
