import { expect } from 'chai'
import { derivedKeys } from '../../../src/adapters/crypto/derived-keys.ts'
import { memoryRefusedLogins } from '../../../src/adapters/stores/memory/refused-logins.ts'
import { IssueCode } from '../../../src/application/apps/issue-code.ts'
import { RedeemCode } from '../../../src/application/apps/redeem-code.ts'
import { RefusalNotes, refusedLoginsOf } from '../../../src/application/explain/note-refused.ts'
import type { OAuthPolicy } from '../../../src/application/oauth/finish-oauth.ts'
import type { RefusedLogins } from '../../../src/application/ports/stores/refused-logins.ts'
import { type Email, type EmailKey, emailKey } from '../../../src/domain/email.ts'
import { noFactors } from '../../../src/domain/factors.ts'
import { LimitReached, Refusal, Unavailable } from '../../../src/domain/refusal.ts'
import type { User } from '../../../src/domain/user.ts'
import { aCredential, aUser, someFactors } from '../../../src/testing/builders.ts'
import { fixedClock } from '../../../src/testing/fixed-clock.ts'
import { quickHasher } from '../../../src/testing/quick-hasher.ts'
import { faultOf } from '../../support/fault-of.ts'
import { type FactorSite, factorSite } from '../../support/scenes/factor-site.ts'
import { password } from '../../support/scenes/hashes.ts'
import { goodSecret } from '../../support/services/settings.ts'

const requestId = 'request-of-a-test'
const address = 'somebody@example.com' as Email // safe: it is one
const caller = { client: '192.0.2.1', device: null }
const policy: OAuthPolicy = {
  associateByEmail: true,
  verifiedByDefault: true,
  requiresVerification: false,
  trustsSecondFactor: false,
}

describe('a refused login', () => {
  let site: FactorSite

  beforeEach(async () => {
    site = await factorSite({ passwordsBeforePauses: 3 })
  })

  afterEach(() => site.close())

  async function withUser(own: Partial<User> = {}): Promise<User> {
    const passwordHash = await quickHasher.hash(password)
    const usual = { email: address, passwordHash, factors: noFactors, isActive: true, isVerified: true }
    const user = aUser({ ...usual, ...own })
    expect(await site.ports.users.insert(user, [])).to.equal('stored')
    return user
  }

  const logIn = (text = password, own: object = {}) =>
    site.logIn.execute({ email: address, password: text, backend: site.backends[0], requestId, caller, ...own })

  async function noted(email = address): Promise<readonly string[]> {
    const logins = await refusedLoginsOf(site.ports, emailKey(email))
    return logins.map(({ reason, detail }) => (detail === null ? reason : `${reason} ${detail}`))
  }

  it('by a password leaves its reason, for known and unknown addresses alike', async () => {
    await faultOf(logIn())
    expect(await noted()).to.deep.equal(['unknown_address'])
    await withUser()
    await faultOf(logIn('a wrong one'))
    await logIn()
    expect(await noted()).to.deep.equal(['wrong_password', 'unknown_address'])
    expect(await noted('others@example.com' as Email)).to.deep.equal([]) // safe: it is an address
  })

  for (const [reason, own] of [
    ['inactive', { isActive: false }],
    ['no_password', { passwordHash: null }],
  ] as const) {
    it(`of a user leaves the reason ${reason}`, async () => {
      await withUser(own)
      await faultOf(logIn())
      expect(await noted()).to.deep.equal([reason])
    })
  }

  it('of a user who is not verified leaves this reason, also if a right password was not enough', async () => {
    await withUser({ isVerified: false })
    const backend = { ...site.backends[0], requiresVerification: true }
    expect(await faultOf(logIn(password, { backend }))).to.deep.include({ code: 'LOGIN_USER_NOT_VERIFIED' })
    expect(await noted()).to.deep.equal(['not_verified'])
  })

  it('beyond a limit leaves the name of the limit', async () => {
    await withUser()
    for (const text of ['wrong', 'wrong', 'wrong', 'wrong']) await faultOf(logIn(text))
    expect(await faultOf(logIn())).to.be.instanceOf(LimitReached)
    expect((await noted())[0]).to.equal('limit_reached passwordsBeforePauses')
  })

  it('because of an outage leaves a note, too', async () => {
    await withUser()
    const { users } = site.ports
    users.findBy = () => Promise.reject(new Unavailable('the store'))
    await faultOf(logIn())
    expect(await noted()).to.deep.equal(['unavailable'])
  })

  it('that has no address leaves no note', async () => {
    await faultOf(logIn(password, { email: null, name: 'no address' }))
    expect(await noted()).to.deep.equal([])
  })

  it('at the second factor leaves that it was asked for, a wrong one, and a user who has changed', async () => {
    const user = await withUser({ factors: { ...someFactors(), totp: null, resetAt: null } })
    const open = async () => {
      const login = await logIn()
      return login.type === 'second_factor' ? login.challenge : expect.fail('no factor was asked for')
    }
    const finish = (challenge: string) => {
      const response = { id: 'unknown', response: { clientDataJSON: clientData('unknown') } }
      const proof = { method: 'passkey', response } as never // safe: it is refused
      return site.finishLogin.execute({ challenge, proof, backend: site.backends[0], requestId, caller })
    }
    const challenge = await open()
    expect(await noted()).to.deep.equal(['second_factor_asked'])
    expect(await faultOf(finish(challenge))).to.be.instanceOf(Refusal)
    expect((await noted())[0]).to.equal('second_factor_wrong passkey')
    await site.changeUser.execute(user.id, (fresh) => {
      return { type: 'replace', user: { ...fresh, passwordVersion: fresh.passwordVersion + 1 }, events: [] }
    })
    expect(await faultOf(finish(challenge))).to.be.instanceOf(Refusal)
    expect((await noted())[0]).to.equal('second_factor_outdated')
    expect(await faultOf(finish('unknown'))).to.be.instanceOf(Refusal)
    expect(await noted()).to.have.length(3)
  })

  it('by a passkey leaves a note for the user that it names', async () => {
    const { factors } = await withUser({ factors: someFactors() })
    const challenge = site.ports.signInChallenges.open(null)
    const response = {
      id: factors.passkeys[0]?.id ?? '',
      response: { clientDataJSON: clientData(challenge), userHandle: factors.passkeyHandle },
    }
    const login = { response: response as never, backend: site.backends[0], requestId } // safe: it is refused
    expect(await faultOf(site.logInByPasskey.execute(login))).to.deep.include({ code: 'PASSKEY_REFUSED' })
    expect(await noted()).to.deep.equal(['passkey_refused'])
  })

  for (const [reason, own] of [
    ['provider_not_linked acme', { isVerified: false }],
    ['inactive acme', { isActive: false }],
  ] as const) {
    it(`at a provider leaves the reason ${reason}`, async () => {
      await withUser(own)
      const identity = { accountId: 'an account', email: address, isEmailVerified: true, tokens: null, fields: {} }
      const provider = {
        name: 'acme',
        scopes: [],
        authorizationUrl: async () => 'https://acme.example/authorize',
        identify: async () => identity,
      } as never // safe: all that is called
      const journey = { provider, by: null, scopes: null, redirectUri: 'https://us.example', returnTo: null } as const
      const { state, sealedJourney } = await site.startOAuth.execute(journey)
      const login = site.finishOAuth.execute({
        response: { code: 'code', state, error: null, iss: null },
        arrival: { provider, journeyOf: () => sealedJourney, recognised: () => undefined },
        policy,
        backend: site.backends[0],
        requestId,
      })
      expect(await faultOf(login)).to.be.instanceOf(Refusal)
      expect(await noted()).to.deep.equal([reason])
    })
  }

  for (const [what, own, ago] of [
    ['whose code came too late', {}, 1],
    ['whose user has logged out since', {}, 0],
    ['whose user got a second factor since, which opens no challenge', { factors: someFactors() }, 0],
  ] as const) {
    it(`of an app ${what} leaves that the login had ended`, async () => {
      const user = await withUser(own)
      const needs = { ...site.ports, changeUser: site.changeUser, backends: site.backends }
      const bound = { app: 'shop', redirectUri: 'https://shop.example' }
      const challenge = site.ports.keyRing.digest('verifier')
      const generation = user.sessions.generation - ago
      const credential = aCredential({ userId: user.id, generation, expiresAt: site.clock() })
      const by = { user, credential, backend: site.backends[0] }
      const code = await new IssueCode(needs).execute({ ...bound, challenge, by, requestId })
      const redeemed = new RedeemCode(needs).execute({
        ...bound,
        code,
        verifier: 'verifier',
        backend: by.backend,
        requestId,
      })
      expect(await faultOf(redeemed)).to.deep.include({ code: 'LOGIN_BAD_CREDENTIALS' })
      expect(await noted()).to.deep.equal(['login_ended shop'])
    })
  }
})

describe('the notes of refused logins', () => {
  const account = emailKey(address)
  const login = { reason: 'wrong_password', detail: null } as const

  function scene(refusedLogins: Pick<RefusedLogins, 'add' | 'list'> = memoryRefusedLogins()) {
    const clock = fixedClock()
    const warnings: unknown[] = []
    const needs = { refusedLogins, keyRing: derivedKeys(goodSecret), clock }
    const notes = new RefusalNotes({ ...needs, warnOfUnnoted: ({ err }) => void warnings.push(err) })
    return { clock, warnings, needs, notes }
  }

  it('are found for a day, also when the secret has changed', async () => {
    const { clock, needs, notes } = scene()
    notes.note(account, login)
    const at = clock()
    const keyRing = derivedKeys(['another secret', goodSecret])
    expect(await refusedLoginsOf(needs, account)).to.deep.equal([{ ...login, at }])
    expect(await refusedLoginsOf({ ...needs, keyRing }, account)).to.deep.equal([{ ...login, at }])
    clock.advance(86_400)
    expect(await refusedLoginsOf(needs, account)).to.have.length(1)
    clock.advance(1)
    expect(await refusedLoginsOf(needs, account)).to.deep.equal([])
  })

  it('keep no address', async () => {
    const keys: string[] = []
    const { notes } = scene({ add: async (key) => void keys.push(key), list: async () => [] })
    notes.note(account, login)
    expect(keys).to.have.length(1)
    expect(keys[0]).to.match(/^[\w-]{43}$/)
  })

  it('are dropped beyond ten that wait for the store, and a fault is a warning', async () => {
    const refusals: ((fault: Error) => void)[] = []
    const add = () => new Promise<void>((_, reject) => refusals.push(reject))
    const { notes, warnings } = scene({ add, list: async () => [] })
    for (let at = 0; at < 150; at++) notes.note(`${at}@example.com` as EmailKey, login) // safe: it is one
    expect(refusals).to.have.length(10)
    for (const refuse of refusals) refuse(new Unavailable('the store'))
    await new Promise((resolve) => setImmediate(resolve))
    expect(warnings).to.have.length(10)
    notes.note(account, login)
    expect(refusals).to.have.length(11)
  })
})

function clientData(challenge: string): string {
  return Buffer.from(JSON.stringify({ challenge })).toString('base64url')
}
