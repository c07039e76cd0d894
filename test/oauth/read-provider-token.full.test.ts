import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { derivedKeys } from '../../src/adapters/crypto/derived-keys.ts'
import { providerVault } from '../../src/adapters/crypto/provider-vault.ts'
import { oauth2Kind } from '../../src/adapters/oauth/oauth2.ts'
import { openOutbound } from '../../src/adapters/oauth/outbound.ts'
import { ReadProviderToken } from '../../src/application/oauth/read-provider-token.ts'
import type { OAuthProvider } from '../../src/application/ports/oauth-provider.ts'
import type { UserStore } from '../../src/application/ports/stores/user-store.ts'
import type { UserId } from '../../src/domain/ids.ts'
import type { OAuthAccount } from '../../src/domain/oauth-account.ts'
import { Unavailable } from '../../src/domain/refusal.ts'
import type { User } from '../../src/domain/user.ts'
import { timers } from '../../src/lib/timers.ts'
import { anAccount, aUser } from '../../src/testing/builders.ts'
import { eventually } from '../support/eventually.ts'
import { faultOf } from '../support/fault-of.ts'
import { type Acme, startAcme } from '../support/providers/acme.ts'
import { type Answer, type Asked, invalidGrant, misbehaviour } from '../support/providers/fake-provider.ts'
import { changeUserOf } from '../support/scenes/delivery.ts'
import { goodSecret } from '../support/services/settings.ts'
import { memoryUnderTest } from '../support/stores/memory.ts'
import { mongoUnderTest } from '../support/stores/mongo.ts'
import { sqliteUnderTest } from '../support/stores/sqlite.ts'

const vault = providerVault(derivedKeys(goodSecret).providerTokenKey)

for (const store of [memoryUnderTest, sqliteUnderTest, mongoUnderTest]) {
  describe(`a provider's token, with users in ${store.name}`, () => {
    let acme: Acme
    let provider: OAuthProvider
    let users: UserStore
    let ahead = 0
    /** Where the clock stands still, so that the speed of the machine has no part in the test. */
    let standsAt: number | null = null
    let reports: string[] = []
    let close = async () => {}
    /** Two programs on the same store. */
    let readers: readonly ReadProviderToken[] = []
    const clock = () => new Date((standsAt ?? Date.now()) + ahead * 1000)

    before(async function () {
      const obstacle = (await store.start?.()) ?? null
      if (obstacle !== null && process.env.TEST_REQUIRE_SERVERS === '1') throw new Error(obstacle)
      if (obstacle !== null) return this.skip()
      acme = await startAcme()
      provider = build(acme)
      const opened = await store.open()
      close = () => opened.close()
      const handles = [opened.store, opened.second].map((one) => one.users ?? expect.fail('no users'))
      users = handles[0] ?? expect.fail('no handle')
      readers = handles.map(
        (one) =>
          new ReadProviderToken({
            users: one,
            changeUser: changeUserOf(one),
            vault,
            clock,
            timers,
            reportProvider: (name, { message }) => void reports.push(`${name}: ${message}`),
          }),
      )
    })
    beforeEach(() => {
      ahead = 0
      standsAt = null
      reports = []
      acme.instead('token', null)
    })
    after(async () => {
      await close()
      await acme?.close()
    })

    const build = ({ name, fake }: Acme): OAuthProvider =>
      oauth2Kind.build(
        {
          clientId: 'client',
          clientSecret: 'secret',
          scopes: [],
          authorizeUrl: `${fake.origin}/authorize`,
          tokenUrl: `${fake.origin}/token`,
          profileUrl: `${fake.origin}/profile`,
          profile: { accountId: 'id', email: 'email', emailVerified: 'email_verified', integerAccountId: false },
          scopeSeparator: ' ',
          pkce: true,
          clientAuthentication: 'basic',
        },
        { name, outbound: openOutbound(), clock },
      )

    /** A user with one account, whose access token lives for so many seconds more. */
    async function linked(seconds: number | null, fields: Partial<OAuthAccount> = {}) {
      const id = randomUUID() as UserId // safe: a UUID
      const refreshToken = `refresh-${randomUUID()}`
      const account = anAccount({
        sealedAccessToken: vault.seal('the first', id, 'acme'),
        sealedRefreshToken: vault.seal(refreshToken, id, 'acme'),
        expiresAt: seconds === null ? null : new Date(clock().getTime() + seconds * 1000),
        refreshingUntil: null,
        ...fields,
      })
      await users.insert(aUser({ id, oauthAccounts: [account] }), [])
      const { accountId } = account
      return {
        id,
        refreshToken,
        read: (by = reader(0)) => by.execute({ userId: id, provider, accountId }),
        async stored() {
          const account = (await users.find(id))?.oauthAccounts[0] ?? expect.fail('the account is gone')
          const opened = (sealed: string | null) => (sealed === null ? null : vault.unseal(sealed, id, 'acme'))
          const { sealedAccessToken, sealedRefreshToken } = account
          return { account, accessToken: opened(sealedAccessToken), refreshToken: opened(sealedRefreshToken) }
        },
      }
    }
    const reader = (caller: number): ReadProviderToken =>
      readers[caller % readers.length] ?? expect.fail('there is no reader')
    const refreshes = (refreshToken: string): number =>
      acme.exchanges().filter(({ form }) => form.get('refresh_token') === refreshToken).length

    it('is returned without a refresh when it has more than a minute left, or no expiry', async () => {
      standsAt = Date.now()
      for (const seconds of [61, 3600, null]) {
        const { read, refreshToken } = await linked(seconds)
        expect(await read()).to.equal('the first')
        expect(refreshes(refreshToken)).to.equal(0)
      }
    })

    it('is refreshed when it has less than a minute left', async () => {
      for (const seconds of [59, 1, 0, -3600]) {
        const { read, stored, refreshToken } = await linked(seconds)
        const token = await read()
        expect(token).to.match(/^acme-access-/)
        const { accessToken, refreshToken: kept, account } = await stored()
        expect(accessToken).to.equal(token)
        expect(kept).to.match(/^acme-refresh-/)
        expect(account.refreshingUntil).to.equal(null)
        expect(Number(account.expiresAt) - Date.now()).to.be.within(3_500_000, 3_601_000)
        expect(refreshes(refreshToken)).to.equal(1)
        expect(await read(reader(1)), 'from the store').to.equal(token)
      }
    })

    it('is refreshed once for 32 concurrent callers in two programs, and all of them get it', async () => {
      const { read, stored, refreshToken } = await linked(0)
      acme.instead('token', rotating())
      const tokens = await Promise.all(Array.from({ length: 32 }, (_, caller) => read(reader(caller))))
      expect(refreshes(refreshToken)).to.equal(1)
      expect(new Set(tokens)).to.deep.equal(new Set(['rotated-1']))
      expect((await stored()).accessToken).to.equal('rotated-1')
    })

    it('is null without its user, its account or its refresh token', async () => {
      const { id, read } = await linked(0, { sealedRefreshToken: null })
      expect(await read()).to.equal(null)
      const nobody = randomUUID() as UserId // safe: a UUID
      for (const userId of [id, nobody]) {
        expect(await reader(0).execute({ userId, provider, accountId: 'another' })).to.equal(null)
      }
    })

    it('stays stored when the provider fails, and the next caller may refresh it at once', async () => {
      for (const answer of [misbehaviour.refuses, misbehaviour['closes the connection']]) {
        const { read, stored, refreshToken } = await linked(0)
        const { account } = await stored()
        reports = []
        acme.instead('token', answer)
        expect(await faultOf(read())).to.have.property('code', 'OAUTH_PROVIDER_ERROR')
        expect(reports).to.have.lengthOf(1)
        expect((await stored()).account).to.deep.equal(account)
        acme.instead('token', null)
        expect(await read(reader(1))).to.match(/^acme-access-/)
        expect(refreshes(refreshToken)).to.equal(2)
      }
    })

    it('stays stored when the provider refuses the refresh token, but is not returned', async () => {
      const { read, stored } = await linked(0)
      const { account } = await stored()
      acme.instead('token', invalidGrant)
      expect(await read()).to.equal(null)
      expect((await stored()).account).to.deep.equal(account)
      expect(reports).to.deep.equal(['acme: the token endpoint refuses (invalid_grant, status 400)'])
    })

    it('causes an error, not null, when the provider refuses our client', async () => {
      for (const error of ['invalid_client', 'unauthorized_client', 'incorrect_client_credentials']) {
        const { read, stored } = await linked(0)
        const { account } = await stored()
        acme.instead('token', { status: 401, body: { error } })
        expect(await faultOf(read())).to.have.property('code', 'OAUTH_PROVIDER_ERROR')
        expect(reports.join()).to.include(error)
        expect((await stored()).account).to.deep.equal(account)
      }
    })

    it('makes a caller wait up to five seconds while another caller refreshes it', async () => {
      standsAt = Date.now()
      const { read, refreshToken } = await linked(0, { refreshingUntil: new Date(clock().getTime() + 10_000) })
      const { one, reads } = counted(() => false)
      const work = faultOf(read(one))
      let isOver = false
      void work.then(() => {
        isOver = true
      })
      await eventually('the first look', () => reads() > 0)
      ahead = 4.5
      const before = reads()
      await eventually('two further looks', () => reads() >= before + 2)
      expect(isOver).to.equal(false)
      ahead = 5.1
      expect(await work).to.be.instanceOf(Unavailable)
      expect(refreshes(refreshToken)).to.equal(0)
    })

    it('is returned to waiting callers as soon as the refresh has ended', async () => {
      const { id, read } = await linked(0, { refreshingUntil: new Date(clock().getTime() + 10_000) })
      const work = read()
      await change(id, (account) => ({
        ...account,
        sealedAccessToken: vault.seal('the second', id, 'acme'),
        expiresAt: new Date(clock().getTime() + 3_600_000),
        refreshingUntil: null,
      }))
      expect(await work).to.equal('the second')
    })

    it('can be refreshed again ten seconds after the start of a refresh that never ended', async () => {
      const { read, refreshToken } = await linked(0, { refreshingUntil: new Date(clock().getTime() + 10_000) })
      ahead = 10.1
      const tokens = await Promise.all(Array.from({ length: 8 }, (_, caller) => read(reader(caller))))
      expect(refreshes(refreshToken)).to.equal(1)
      expect(new Set(tokens).size).to.equal(1)
    })

    it('is not overwritten by a late refresh when a login has stored a new one meanwhile', async () => {
      for (const late of [{ body: { access_token: 'too late', token_type: 'Bearer' } }, misbehaviour.refuses]) {
        const { id, read, stored, refreshToken } = await linked(0)
        let answer = (): void => {}
        acme.instead('token', (_asked: Asked, response) => {
          answer = () => {
            response.writeHead('status' in late ? late.status : 200, { 'content-type': 'application/json' })
            response.end(JSON.stringify(late.body))
          }
        })
        const work = faultOf(read())
        await eventually('the provider is asked', () => refreshes(refreshToken) === 1)
        const lockedUntil = (await stored()).account.refreshingUntil
        expect(Number(lockedUntil) - Date.now(), 'the lock').to.be.within(1, 10_000)
        const refreshingUntil = new Date(clock().getTime() + 10_000)
        const sealedAccessToken = vault.seal('of the login', id, 'acme')
        await change(id, (account) => ({ ...account, sealedAccessToken, refreshingUntil }))
        answer()
        await work
        const { account, accessToken } = await stored()
        expect(accessToken).to.equal('of the login')
        expect(account.refreshingUntil, 'the lock of another caller').to.deep.equal(refreshingUntil)
      }
    })

    it('is null without a lock or a wait when another secret encrypted it', async () => {
      const other = providerVault(derivedKeys(`another ${goodSecret}`).providerTokenKey)
      const sealedRefreshToken = other.seal('refresh', randomUUID() as UserId, 'acme') // safe: a UUID
      const { read, stored } = await linked(0, { sealedRefreshToken })
      for (const caller of [0, 1]) expect(await read(reader(caller))).to.equal(null)
      expect((await stored()).account.refreshingUntil).to.equal(null)
    })

    it('is stored although the first write after the refresh fails', async () => {
      const { read, stored, refreshToken } = await linked(0)
      acme.instead('token', rotating())
      const { one, writes } = counted((write) => write === 2)
      expect(await read(one)).to.equal('rotated-1')
      expect(await stored()).to.deep.include({ accessToken: 'rotated-1', refreshToken: 'next-rotated-1' })
      expect(writes()).to.equal(3)
      expect(refreshes(refreshToken)).to.equal(1)
    })

    it('is not stored after the lock of its refresh has ended', async () => {
      const { read, refreshToken } = await linked(0)
      acme.instead('token', rotating())
      const { one, writes } = counted((write) => write > 1)
      const work = faultOf(read(one))
      await eventually('the provider is asked', () => refreshes(refreshToken) === 1)
      ahead = 5 // while it answers
      await eventually('a write that fails', () => writes() > 1)
      ahead = 10.1 // since the lock
      expect(await work).to.be.instanceOf(Unavailable)
      expect(writes()).to.be.below(5)
    })

    /** A program on a store that counts its reads and writes, and fails at some of the writes. */
    function counted(fails: (write: number) => boolean) {
      let [reads, writes] = [0, 0]
      const failing: UserStore = {
        ...users,
        find(userId) {
          reads += 1
          return users.find(userId)
        },
        async replace(user, events) {
          if (fails(++writes)) throw new Unavailable('the store')
          return users.replace(user, events)
        },
      }
      const needs = { vault, clock, timers, reportProvider: () => undefined }
      const one = new ReadProviderToken({ ...needs, users: failing, changeUser: changeUserOf(failing) })
      return { one, reads: () => reads, writes: () => writes }
    }

    async function change(id: UserId, of: (account: OAuthAccount) => OAuthAccount): Promise<void> {
      const judge = (user: User) => ({ ...user, oauthAccounts: user.oauthAccounts.map(of) })
      await changeUserOf(users).execute(id, (user) => ({ type: 'replace', user: judge(user), events: [] }))
    }
  })
}

/** Takes each refresh token once, slowly, as providers that rotate do (RFC 9700 section 4.14.2). */
function rotating(): Answer {
  let count = 0
  return (_asked, response) => {
    const token = `rotated-${++count}`
    setTimeout(() => {
      response.writeHead(200, { 'content-type': 'application/json' })
      const tokens = { access_token: token, refresh_token: `next-${token}`, token_type: 'Bearer', expires_in: 3600 }
      response.end(JSON.stringify(tokens))
    }, 100)
  }
}
