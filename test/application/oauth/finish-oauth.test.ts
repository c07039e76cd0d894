import { expect } from 'chai'
import { derivedKeys, newToken } from '../../../src/adapters/crypto/derived-keys.ts'
import { newId } from '../../../src/adapters/crypto/new-id.ts'
import { providerVault } from '../../../src/adapters/crypto/provider-vault.ts'
import { fieldRulesOf } from '../../../src/adapters/fields/declared-fields.ts'
import type { FieldSettings } from '../../../src/adapters/fields/field-schema.ts'
import { memoryExpiringMarks } from '../../../src/adapters/stores/memory/expiring-marks.ts'
import { unlimited } from '../../../src/application/limits/limits.ts'
import { FinishOAuth, type ProviderFields } from '../../../src/application/oauth/finish-oauth.ts'
import { StartOAuth } from '../../../src/application/oauth/start-oauth.ts'
import type { OAuthProvider } from '../../../src/application/ports/oauth-provider.ts'
import type { UserStore } from '../../../src/application/ports/stores/user-store.ts'
import type { Email } from '../../../src/domain/email.ts'
import { accountEvent } from '../../../src/domain/events.ts'
import { noFactors } from '../../../src/domain/factors.ts'
import type { FieldRules } from '../../../src/domain/fields.ts'
import type { UserId } from '../../../src/domain/ids.ts'
import { Refusal } from '../../../src/domain/refusal.ts'
import type { User } from '../../../src/domain/user.ts'
import { aUser, someFactors } from '../../../src/testing/builders.ts'
import { fixedClock } from '../../../src/testing/fixed-clock.ts'
import { changeUserOf, deliveryNeeds, metadataAt, recording } from '../../support/scenes/delivery.ts'
import { granted } from '../../support/scenes/logins.ts'
import { goodSecret } from '../../support/services/settings.ts'

const identity = {
  accountId: 'account-1',
  email: 'somebody@example.com' as Email, // safe: it is one
  isEmailVerified: true,
  tokens: { accessToken: 'token', refreshToken: null, expiresAt: null },
}
const provider: OAuthProvider = {
  name: 'acme',
  scopes: [],
  authorizationUrl: async ({ state }) => `https://acme.example/authorize?state=${state}`,
  identify: async () => identity,
  refresh: async () => identity.tokens,
}
const policy = {
  associateByEmail: true,
  verifiedByDefault: false,
  requiresVerification: false,
  trustsSecondFactor: false,
}

/** A text without rules. */
const declared: FieldSettings = {
  type: 'string',
  title: {},
  minLength: 0,
  maxLength: 255,
  maxItems: 20,
  items: { minLength: 0, maxLength: 255 },
  readOnly: false,
  private: false,
  unique: false,
  caseSensitive: false,
  claim: false,
  atRegistration: 'optional',
}
const rulesOf = (fields: object) =>
  fieldRulesOf({ fields: fields as Record<string, FieldSettings>, unknownFields: 'drop' }) // safe: built from `declared`

interface Own {
  readonly fields?: Readonly<Record<string, unknown>>
  readonly accountId?: string
  readonly fieldRules?: FieldRules
  readonly warnOfProviderFields?: (unfit: ProviderFields) => void
}

describe('FinishOAuth', () => {
  /** Logs `identity` in on a store of users, and returns the id of the user. */
  async function scene() {
    const clock = fixedClock()
    const { users, outbox } = await deliveryNeeds(clock)
    const keyRing = derivedKeys(goodSecret)
    const expiringMarks = memoryExpiringMarks(clock)
    const vault = providerVault(keyRing.providerTokenKey)
    let woken = 0
    return {
      users,
      outbox,
      woken: () => woken,
      async logIn(store: UserStore = users, email = identity.email, own: Own = {}): Promise<string> {
        const { fields = {}, accountId = identity.accountId, ...ofFields } = own
        const acme = { ...provider, identify: async () => ({ ...identity, accountId, email, fields }) }
        const started = new StartOAuth({ keyRing, clock, newToken, freshLoginSeconds: null })
        const journey = {
          provider: acme,
          by: null,
          scopes: null,
          redirectUri: 'https://us.example',
          returnTo: null,
        } as const
        const { state, sealedJourney } = await started.execute(journey)
        const changeUser = changeUserOf(store)
        const needs = {
          users: store,
          changeUser,
          expiringMarks,
          keyRing,
          vault,
          eventHandlers: recording(),
          clock,
          newId,
          limits: unlimited,
          deviceTokens: { idOf: () => null, issue: () => 'a device token' },
          wakeRelay: () => void woken++,
          loginTimes: { recordLogin: async () => undefined },
          warnOfDropped() {},
          warnOfUnrecorded() {},
          ...ofFields,
        }
        const result = await new FinishOAuth(needs).execute({
          response: { code: 'code', state, error: null, iss: null },
          arrival: { provider: acme, journeyOf: () => sealedJourney, recognised: () => undefined },
          policy,
          backend: {
            name: 'jwt',
            requiresVerification: false,
            credentials: {
              recognises: () => true,
              issue: async (user: User) => ({ value: user.id, credential: { id: 'the login' } }),
              read: async () => null,
              revoke: async () => {},
              recordUse: async () => {},
            },
          } as never, // safe: only `issue` is called
          requestId: 'request-of-a-test',
        })
        return granted(result).issued.value
      },
    }
  }

  for (const [where, steps] of [
    ['before it looks for the account', 0],
    ['between looking for the account and for the address', 1],
    ['between looking and writing', 2],
  ] as const) {
    it(`logs in the same user as another login ${where}`, async () => {
      const { users, logIn } = await scene()
      let first: string | null = null
      let step = 0
      const otherFirst = async () => {
        if (step++ === steps) first = await logIn()
      }
      const slower: UserStore = {
        ...users,
        async findBy(key) {
          await otherFirst()
          return await users.findBy(key)
        },
        async insert(...written) {
          await otherFirst()
          return await users.insert(...written)
        },
      }
      const second = await logIn(slower)
      expect(first).to.be.a('string')
      expect(second).to.equal(first)
    })
  }

  it('wakes the relay once when it has written a new user', async () => {
    const { logIn, woken } = await scene()
    await logIn()
    expect(woken()).to.equal(1)
    await logIn()
    expect(woken()).to.equal(1)
  })

  it('names the provider as the actor of a registration, a take-over and a login', async () => {
    const given = { email: identity.email, isVerified: true, isOwnerProved: false, oauthAccounts: [] }
    for (const [existing, types] of [
      [[], ['registered', 'logged_in']],
      [[aUser(given)], ['updated', 'updated', 'logged_in']],
    ] as const) {
      const { users, outbox, logIn } = await scene()
      for (const user of existing) await users.insert(user, [])
      await logIn()
      const { items } = await outbox.list('waiting', 100, null)
      const by = { type: 'provider', name: 'acme' }
      expect(items.map(({ event }) => [event.type, event.by])).to.deep.equal(types.map((type) => [type, by]))
    }
  })

  it('takes an account from somebody who registered the address first, although 100 events wait', async () => {
    const { users, logIn } = await scene()
    const factors = { ...someFactors(), isUnverified: true as const }
    const user = aUser({ email: identity.email, isVerified: true, isOwnerProved: false, oauthAccounts: [], factors })
    const waiting = Array.from({ length: 100 }, () => accountEvent('logged_in', user, metadataAt(new Date())))
    await users.insert(user, waiting)
    expect(await logIn()).to.equal(user.id)
    const taken = await users.find(user.id)
    expect(taken).to.deep.include({ passwordHash: null, isOwnerProved: true, factors: noFactors })
    expect(taken?.sessions.generation).to.be.above(user.sessions.generation)
    expect(taken?.oauthAccounts.map(({ accountId }) => accountId)).to.deep.equal([identity.accountId])
  })

  it('creates no user with an address that a mail server could deliver elsewhere, and logs in one who has it', async () => {
    const { users, logIn } = await scene()
    const email = '=?utf-8?q?ada?=@example.com' as Email // safe: it is one
    const thrown = await logIn(users, email).catch((error: unknown) => error)
    expect(thrown).to.be.instanceOf(Refusal).with.property('code', 'OAUTH_NOT_AVAILABLE_EMAIL')
    const user = aUser({ email, isActive: true, isVerified: true, oauthAccounts: [] })
    await users.insert(user, [])
    expect(await logIn(users, email)).to.equal(user.id)
  })

  it('does not link to a user whose address changed after the look-up', async () => {
    const { users, logIn } = await scene()
    const user = aUser({ email: identity.email, isVerified: true, oauthAccounts: [] })
    await users.insert(user, [])
    const changing: UserStore = {
      ...users,
      async findBy(key) {
        const found = await users.findBy(key)
        if (found !== null) await users.replace({ ...found, email: 'another@example.com' as Email }, []) // safe: it is one
        return found
      },
    }
    const thrown = await logIn(changing).catch((error: unknown) => error)
    expect(thrown).to.be.instanceOf(Refusal).with.property('code', 'OAUTH_USER_ALREADY_EXISTS')
    expect((await users.find(user.id))?.oauthAccounts).to.deep.equal([])
  })

  it('fills the fields of a new user, without values that do not fit, that others have or that users may not write', async () => {
    const field = (one: object) => ({ ...declared, ...one })
    const fieldRules = rulesOf({
      handle: field({ unique: true, atRegistration: 'required' }),
      city: field({ atRegistration: 'required' }),
      age: field({ type: 'integer' }),
      role: field({ readOnly: true, default: 'member' }),
    })
    const { users, logIn } = await scene()
    const dropped: (readonly string[])[] = []
    const warnOfProviderFields = ({ fields }: ProviderFields): void => void dropped.push(fields)
    const fields = { handle: 'Ada', age: 'old', role: 'admin', other: 'x' }
    const first = await logIn(users, identity.email, { fields, fieldRules, warnOfProviderFields })
    const email = 'another@example.com' as Email // safe: it is one
    const second = await logIn(users, email, {
      accountId: 'account-2',
      fields: { handle: 'ADA', city: 'Bern' },
      fieldRules,
      warnOfProviderFields,
    })
    const shown = { handle: 'Ada', city: null, age: null, role: 'member' }
    expect((await users.find(first as UserId))?.fields).to.deep.include({ shown, keys: { handle: 'ada' } })
    expect((await users.find(second as UserId))?.fields).to.deep.include({
      shown: { ...shown, handle: null, city: 'Bern' },
      keys: {},
    })
    expect(dropped).to.deep.equal([['age', 'role', 'other'], ['handle']])
  })

  it('signs in without the data of the provider if they are too large together', async () => {
    const fieldRules = rulesOf({ a: { ...declared, maxLength: 4096 }, b: { ...declared, maxLength: 4096 } })
    const { users, logIn } = await scene()
    const dropped: (readonly string[])[] = []
    const warnOfProviderFields = ({ fields }: ProviderFields): void => void dropped.push(fields)
    const fields = { a: 'ü'.repeat(3000), b: 'ü'.repeat(3000) }
    const id = await logIn(users, identity.email, { fields, fieldRules, warnOfProviderFields })
    expect((await users.find(id as UserId))?.fields.shown).to.deep.equal({ a: null, b: null })
    expect(dropped).to.deep.equal([['a', 'b']])
  })
})
