import assert from 'node:assert/strict'
import type { UsersRole } from '../../adapters/stores/store-backend.ts'
import { emailKey } from '../../domain/email.ts'
import type { OAuthAccount } from '../../domain/oauth-account.ts'
import type { User } from '../../domain/user.ts'
import { anAccount, anEvent, aUser } from '../builders.ts'
import type { ContractCase } from '../contract.ts'
import { deliverAll } from './deliveries.ts'
import type { Open, OpenedUsers } from './store-under-test.ts'
import { callers, count, onQuietRoles, stored } from './users-scene.ts'

/** The same account at the provider, linked again: with another link and other tokens. */
const linkedAgain = ({ provider, accountId }: OAuthAccount): OAuthAccount => anAccount({ provider, accountId })

/** The promises of `UserStore` in `application/ports` about linked accounts. */
export function oauthAccountsContract(open: Open<OpenedUsers>): ContractCase[] {
  const on = onQuietRoles(open)

  /** Stores `user` with `fields`, and returns the stored record. */
  async function replaced(role: UsersRole, user: User, fields: Partial<User>): Promise<User> {
    const change = { ...user, ...fields }
    assert.equal(await role.users.replace(change, []), 'stored')
    return { ...change, version: user.version + 1 }
  }

  const ownerOf = ({ users }: UsersRole, { provider, accountId }: OAuthAccount): Promise<User | null> =>
    users.findByOAuthAccount(provider, accountId)

  return [
    on('gives back every field of every account as it was inserted and as it was replaced', async (role, second) => {
      const none = { vouchedEmail: null, sealedRefreshToken: null, expiresAt: null, refreshingUntil: null }
      const plain = anAccount(none)
      const user = await stored(role, { oauthAccounts: [anAccount(), plain, anAccount({ provider: 'other' })] })
      assert.deepEqual(await role.users.find(user.id), user)
      assert.deepEqual(await role.users.findByEmail(emailKey(user.email)), user)
      for (const account of user.oauthAccounts) assert.deepEqual(await ownerOf(second, account), user)

      const [first, , third] = user.oauthAccounts
      assert.ok(first && third)
      const renewed = { ...linkedAgain(first), ...none }
      const after = await replaced(role, user, { oauthAccounts: [third, anAccount(), renewed] })
      assert.deepEqual(await second.users.find(user.id), after)
      for (const account of after.oauthAccounts) assert.deepEqual(await ownerOf(role, account), after)
    }),

    on('answers null for an account that nobody has', async (role) => {
      const { oauthAccounts } = await stored(role)
      const [account] = oauthAccounts
      assert.ok(account)
      const { provider, accountId } = account
      assert.equal(await ownerOf(role, anAccount()), null)
      assert.equal(await role.users.findByOAuthAccount('other', accountId), null)
      assert.equal(await role.users.findByOAuthAccount(provider, accountId.toUpperCase()), null)
      assert.equal(await role.users.findByOAuthAccount(provider, ''), null)
      assert.equal(await role.users.findByOAuthAccount(accountId, provider), null)
    }),

    on('tells accounts apart by provider and id, letter by letter', async (role) => {
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
      for (const account of accounts) owners.push(await stored(role, { oauthAccounts: [account] }))
      for (const [at, account] of accounts.entries()) assert.deepEqual(await ownerOf(role, account), owners[at])
    }),

    on('lets exactly one of many concurrent inserts have an account', async (role, second) => {
      const account = anAccount()
      const candidates = Array.from({ length: callers }, () => aUser({ oauthAccounts: [linkedAgain(account)] }))
      const events = candidates.map((user) => anEvent(user))
      const outcomes = await Promise.all(
        candidates.map((user, at) => (at % 2 ? role : second).users.insert(user, events.slice(at, at + 1))),
      )
      assert.equal(count(outcomes, 'stored'), 1)
      assert.equal(count(outcomes, 'account_taken'), callers - 1)
      const winner = candidates[outcomes.indexOf('stored')]
      assert.deepEqual(await ownerOf(role, account), winner)
      for (const user of candidates) {
        const wanted = user === winner ? user : null
        assert.deepEqual(await role.users.find(user.id), wanted)
        assert.deepEqual(await role.users.findByEmail(emailKey(user.email)), wanted)
      }
      assert.deepEqual(await deliverAll(role.outbox), [events[outcomes.indexOf('stored')]])
    }),

    on('lets exactly one of many users who link an account at once have it', async (role, second) => {
      const account = anAccount()
      const linkers = await Promise.all(Array.from({ length: 16 }, () => stored(role)))
      const outcomes = await Promise.all([
        ...linkers.map((user, at) =>
          (at % 2 ? role : second).users.replace(
            { ...user, oauthAccounts: [...user.oauthAccounts, linkedAgain(account)] },
            [],
          ),
        ),
        ...Array.from({ length: 16 }, (_, at) =>
          (at % 2 ? role : second).users.insert(aUser({ oauthAccounts: [linkedAgain(account)] }), []),
        ),
      ])
      assert.equal(count(outcomes, 'stored'), 1)
      assert.equal(count(outcomes, 'account_taken'), 31)
      const owner = await ownerOf(role, account)
      const found = await Promise.all(linkers.map(({ id }) => role.users.find(id)))
      for (const [at, user] of found.entries()) {
        const loser = linkers[at]
        assert.deepEqual(user, outcomes[at] === 'stored' ? owner : loser)
      }
    }),

    on('gives both of two accounts that two users link at once to one of them', async (role, second) => {
      for (let round = 0; round < 8; round++) {
        const [one, other] = [anAccount(), anAccount()]
        const users = await Promise.all([stored(role), stored(role)])
        const outcomes = await Promise.all([
          role.users.replace({ ...users[0], oauthAccounts: [one, other].map(linkedAgain) }, []),
          second.users.replace({ ...users[1], oauthAccounts: [other, one].map(linkedAgain) }, []),
        ])
        assert.deepEqual([...outcomes].sort(), ['account_taken', 'stored'])
        const winner = users[outcomes.indexOf('stored')]
        assert.ok(winner)
        for (const account of [one, other]) assert.equal((await ownerOf(role, account))?.id, winner.id)
      }
    }),

    on('writes nothing, no event either, when one of the accounts is taken', async (role) => {
      const owner = await stored(role)
      const user = await stored(role)
      const [taken] = owner.oauthAccounts.map(linkedAgain)
      const free = anAccount()
      assert.ok(taken)
      const late = aUser({ oauthAccounts: [free, taken] })
      assert.equal(await role.users.insert(late, [anEvent(late)]), 'account_taken')
      assert.equal(await role.users.find(late.id), null)
      assert.equal(await role.users.findByEmail(emailKey(late.email)), null)
      const { email } = aUser()
      const change = { ...user, email, oauthAccounts: [free, taken] }
      assert.equal(await role.users.replace(change, [anEvent(user)]), 'account_taken')
      assert.deepEqual(await role.users.find(user.id), user)
      assert.equal(await role.users.findByEmail(emailKey(email)), null)
      for (const kept of user.oauthAccounts) assert.deepEqual(await ownerOf(role, kept), user)
      assert.deepEqual(await ownerOf(role, taken), owner)
      assert.equal(await ownerOf(role, free), null)
      assert.deepEqual(await deliverAll(role.outbox), [])
    }),

    on('says that the address is taken where both are', async (role) => {
      const { email, oauthAccounts } = await stored(role)
      const elsewhere = await stored(role)
      const user = await stored(role)
      for (const accounts of [oauthAccounts, elsewhere.oauthAccounts]) {
        const taken = { email, oauthAccounts: accounts.map(linkedAgain) }
        assert.equal(await role.users.insert(aUser(taken), []), 'email_taken')
        assert.equal(await role.users.replace({ ...user, ...taken }, []), 'email_taken')
      }
      const free = { ...user, email: aUser().email, oauthAccounts }
      assert.equal(await role.users.replace(free, []), 'account_taken')
    }),

    on('never says that an account is taken where there is none', async (role) => {
      const { email } = await stored(role)
      await stored(role, { oauthAccounts: [] })
      const user = await stored(role, { oauthAccounts: [] })
      assert.equal(await role.users.insert(aUser({ email, oauthAccounts: [] }), []), 'email_taken')
      assert.equal(await role.users.replace({ ...user, email }, []), 'email_taken')
      assert.equal(await role.users.replace(user, []), 'stored')
    }),

    on('is stale before anything is taken', async (role) => {
      const { email, oauthAccounts } = await stored(role)
      const user = await stored(role)
      await replaced(role, user, {})
      for (const id of [user.id, aUser().id]) {
        assert.equal(await role.users.replace({ ...user, id, oauthAccounts }, [anEvent(user)]), 'stale')
        assert.equal(await role.users.replace({ ...user, id, email, oauthAccounts }, [anEvent(user)]), 'stale')
      }
      assert.deepEqual(await deliverAll(role.outbox), [])
    }),

    on('lets a user link an own account again, and move to another address with it', async (role) => {
      const user = await stored(role)
      const again = await replaced(role, user, { oauthAccounts: user.oauthAccounts.map(linkedAgain) })
      assert.deepEqual(await role.users.find(user.id), again)
      const moved = await replaced(role, again, { email: aUser().email })
      for (const account of user.oauthAccounts) assert.deepEqual(await ownerOf(role, account), moved)
    }),

    on('frees an account that is unlinked', async (role, second) => {
      const [kept, unlinked] = [anAccount(), anAccount()]
      const user = await stored(role, { oauthAccounts: [kept, unlinked] })
      const without = await replaced(role, user, { oauthAccounts: [kept] })
      assert.equal(await ownerOf(second, unlinked), null)
      assert.deepEqual(await ownerOf(second, kept), without)
      const next = await stored(role, { oauthAccounts: [linkedAgain(unlinked)] })
      assert.deepEqual(await ownerOf(second, unlinked), next)
      const none = await replaced(role, without, { oauthAccounts: [] })
      assert.deepEqual(await role.users.find(user.id), none)
      const last = await replaced(role, next, { oauthAccounts: [linkedAgain(kept), ...next.oauthAccounts] })
      assert.deepEqual(await ownerOf(second, kept), last)
    }),

    on('frees the accounts of a removed user, while the events of that user still wait', async (role) => {
      for (const waits of [false, true]) {
        const user = await stored(role, { oauthAccounts: [anAccount(), anAccount()] })
        assert.equal(await role.users.remove(user, waits ? [anEvent(user, { type: 'deleted' })] : []), 'removed')
        for (const account of user.oauthAccounts) assert.equal(await ownerOf(role, account), null)
        const next = await stored(role, { oauthAccounts: user.oauthAccounts.map(linkedAgain) })
        for (const account of user.oauthAccounts) assert.deepEqual(await ownerOf(role, account), next)
      }
      assert.equal((await deliverAll(role.outbox)).length, 1)
    }),
  ]
}
