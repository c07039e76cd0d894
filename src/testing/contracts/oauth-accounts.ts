import assert from 'node:assert/strict'
import type { UsersRole } from '../../adapters/stores/store-backend.ts'
import { emailKey } from '../../domain/email.ts'
import type { OAuthAccount } from '../../domain/oauth-account.ts'
import type { User } from '../../domain/user.ts'
import { unique } from '../../domain/user-record.ts'
import { anAccount, anEvent, aUser } from '../builders.ts'
import { type Cases, range } from '../cases.ts'
import { callers, count, deliverAll, replaced, stored } from '../users-scene.ts'

/** The same account at the provider, linked again: with another link and other tokens. */
const linkedAgain = ({ provider, accountId }: OAuthAccount): OAuthAccount => anAccount({ provider, accountId })

/** The promises of `UserStore` in `application/ports` about linked accounts. */
export function oauthAccountsContract({ on }: Cases<UsersRole>): void {
  const ownerOf = ({ users }: UsersRole, { provider, accountId }: OAuthAccount): Promise<User | null> =>
    users.findBy(unique.account({ provider, accountId }))

  on('gives back every field of every account as inserted and as replaced', async ({ store, second }) => {
    const none = { vouchedEmail: null, sealedRefreshToken: null, expiresAt: null, refreshingUntil: null }
    const plain = anAccount(none)
    const user = await stored(store, { oauthAccounts: [anAccount(), plain, anAccount({ provider: 'other' })] })
    assert.deepEqual(await store.users.find(user.id), user)
    assert.deepEqual(await store.users.findBy(unique.email(emailKey(user.email))), user)
    for (const account of user.oauthAccounts) assert.deepEqual(await ownerOf(second, account), user)

    const [first, , third] = user.oauthAccounts
    assert.ok(first && third)
    const renewed = { ...linkedAgain(first), ...none }
    const after = await replaced(store, user, { oauthAccounts: [third, anAccount(), renewed] })
    assert.deepEqual(await second.users.find(user.id), after)
    for (const account of after.oauthAccounts) assert.deepEqual(await ownerOf(store, account), after)
  })

  on('distinguishes accounts by the exact provider and id', async ({ store }) => {
    const { accountId } = anAccount()
    const accounts = [
      { provider: 'acme', accountId },
      { provider: 'other', accountId },
      { provider: 'ACME', accountId },
      { provider: 'acme', accountId: accountId.toUpperCase() },
      { provider: 'acme', accountId: ` ${accountId}` },
      { provider: 'acme', accountId: `é${accountId}` },
      { provider: 'acme', accountId: `e\u0301${accountId}` },
      { provider: 'a', accountId: `b:${accountId}` },
      { provider: 'a:b', accountId },
      { provider: 'a%3Ab', accountId },
      { provider: 'a","b', accountId },
      { provider: 'a', accountId: `b","${accountId}` },
    ].map(anAccount)
    const owners: User[] = []
    for (const account of accounts) owners.push(await stored(store, { oauthAccounts: [account] }))
    for (const [at, account] of accounts.entries()) assert.deepEqual(await ownerOf(store, account), owners[at])
  })

  on('stores exactly one of many concurrent inserts of an account', async ({ store, atOnce }) => {
    const account = anAccount()
    const candidates = range(callers).map(() => aUser({ oauthAccounts: [linkedAgain(account)] }))
    const events = candidates.map((user) => anEvent(user))
    const outcomes = await atOnce(candidates, (one, user, at) => one.users.insert(user, events.slice(at, at + 1)))
    assert.equal(count(outcomes, 'stored'), 1)
    assert.equal(count(outcomes, 'account_taken'), callers - 1)
    const winner = candidates[outcomes.indexOf('stored')]
    assert.deepEqual(await ownerOf(store, account), winner)
    for (const user of candidates) {
      const wanted = user === winner ? user : null
      assert.deepEqual(await store.users.find(user.id), wanted)
      assert.deepEqual(await store.users.findBy(unique.email(emailKey(user.email))), wanted)
    }
    assert.deepEqual(await deliverAll(store.outbox), [events[outcomes.indexOf('stored')]])
  })

  on('gives an account to exactly one of many users who link it at once', async ({ store, atOnce }) => {
    const account = anAccount()
    const linkers = await Promise.all(range(16).map(() => stored(store)))
    const linked = linkers.map((user) => ({ ...user, oauthAccounts: [...user.oauthAccounts, linkedAgain(account)] }))
    const created = range(16).map(() => aUser({ oauthAccounts: [linkedAgain(account)] }))
    const outcomes = await atOnce([...linked, ...created], ({ users }, user, at) =>
      at < 16 ? users.replace(user, []) : users.insert(user, []),
    )
    assert.equal(count(outcomes, 'stored'), 1)
    assert.equal(count(outcomes, 'account_taken'), 31)
    const owner = await ownerOf(store, account)
    const found = await Promise.all(linkers.map(({ id }) => store.users.find(id)))
    for (const [at, user] of found.entries()) assert.deepEqual(user, outcomes[at] === 'stored' ? owner : linkers[at])
  })

  on('gives two accounts to the same one of two users who link both at once', async ({ store, second }) => {
    for (let round = 0; round < 8; round++) {
      const [one, other] = [anAccount(), anAccount()]
      const users = await Promise.all([stored(store), stored(store)])
      const outcomes = await Promise.all([
        store.users.replace({ ...users[0], oauthAccounts: [one, other].map(linkedAgain) }, []),
        second.users.replace({ ...users[1], oauthAccounts: [other, one].map(linkedAgain) }, []),
      ])
      assert.deepEqual([...outcomes].sort(), ['account_taken', 'stored'])
      const winner = users[outcomes.indexOf('stored')]
      assert.ok(winner)
      for (const account of [one, other]) assert.equal((await ownerOf(store, account))?.id, winner.id)
    }
  })

  on('writes neither user nor event when one of the accounts is taken', async ({ store }) => {
    const owner = await stored(store)
    const user = await stored(store)
    const [taken] = owner.oauthAccounts.map(linkedAgain)
    const free = anAccount()
    assert.ok(taken)
    const late = aUser({ oauthAccounts: [free, taken] })
    assert.equal(await store.users.insert(late, [anEvent(late)]), 'account_taken')
    assert.equal(await store.users.find(late.id), null)
    assert.equal(await store.users.findBy(unique.email(emailKey(late.email))), null)
    const { email } = aUser()
    const change = { ...user, email, oauthAccounts: [free, taken] }
    assert.equal(await store.users.replace(change, [anEvent(user)]), 'account_taken')
    assert.deepEqual(await store.users.find(user.id), user)
    assert.equal(await store.users.findBy(unique.email(emailKey(email))), null)
    for (const kept of user.oauthAccounts) assert.deepEqual(await ownerOf(store, kept), user)
    assert.deepEqual(await ownerOf(store, taken), owner)
    assert.equal(await ownerOf(store, free), null)
    assert.deepEqual(await deliverAll(store.outbox), [])
  })

  on('answers email_taken when address and account are taken', async ({ store }) => {
    const { email, oauthAccounts } = await stored(store)
    const elsewhere = await stored(store)
    const user = await stored(store)
    for (const accounts of [oauthAccounts, elsewhere.oauthAccounts]) {
      const taken = { email, oauthAccounts: accounts.map(linkedAgain) }
      assert.equal(await store.users.insert(aUser(taken), []), 'email_taken')
      assert.equal(await store.users.replace({ ...user, ...taken }, []), 'email_taken')
    }
    const free = { ...user, email: aUser().email, oauthAccounts }
    assert.equal(await store.users.replace(free, []), 'account_taken')
  })

  on('never answers account_taken for a user without accounts', async ({ store }) => {
    const { email } = await stored(store)
    await stored(store, { oauthAccounts: [] })
    const user = await stored(store, { oauthAccounts: [] })
    assert.equal(await store.users.insert(aUser({ email, oauthAccounts: [] }), []), 'email_taken')
    assert.equal(await store.users.replace({ ...user, email }, []), 'email_taken')
    assert.equal(await store.users.replace(user, []), 'stored')
  })

  on('answers stale before it compares keys', async ({ store }) => {
    const { email, oauthAccounts } = await stored(store)
    const user = await stored(store)
    await replaced(store, user, {})
    for (const id of [user.id, aUser().id]) {
      assert.equal(await store.users.replace({ ...user, id, oauthAccounts }, [anEvent(user)]), 'stale')
      assert.equal(await store.users.replace({ ...user, id, email, oauthAccounts }, [anEvent(user)]), 'stale')
    }
    assert.deepEqual(await deliverAll(store.outbox), [])
  })

  on('releases an unlinked account', async ({ store, second }) => {
    const [kept, unlinked] = [anAccount(), anAccount()]
    const user = await stored(store, { oauthAccounts: [kept, unlinked] })
    const without = await replaced(store, user, { oauthAccounts: [kept] })
    assert.equal(await ownerOf(second, unlinked), null)
    assert.deepEqual(await ownerOf(second, kept), without)
    const next = await stored(store, { oauthAccounts: [linkedAgain(unlinked)] })
    assert.deepEqual(await ownerOf(second, unlinked), next)
    const none = await replaced(store, without, { oauthAccounts: [] })
    assert.deepEqual(await store.users.find(user.id), none)
    const last = await replaced(store, next, { oauthAccounts: [linkedAgain(kept), ...next.oauthAccounts] })
    assert.deepEqual(await ownerOf(second, kept), last)
  })

  on('releases the accounts of a removed user while its events wait', async ({ store }) => {
    const user = await stored(store, { oauthAccounts: [anAccount(), anAccount()] })
    assert.equal(await store.users.remove(user, [anEvent(user, { type: 'deleted' })]), 'removed')
    for (const account of user.oauthAccounts) assert.equal(await ownerOf(store, account), null)
    const next = await stored(store, { oauthAccounts: user.oauthAccounts.map(linkedAgain) })
    for (const account of user.oauthAccounts) assert.deepEqual(await ownerOf(store, account), next)
    assert.equal((await deliverAll(store.outbox)).length, 1)
  })
}
