import { domainToUnicode } from 'node:url'
import { expect } from 'chai'
import { newToken } from '../../src/adapters/crypto/derived-keys.ts'
import { newId } from '../../src/adapters/crypto/new-id.ts'
import { providerVault } from '../../src/adapters/crypto/provider-vault.ts'
import { functionHandlers } from '../../src/adapters/events/function-handlers.ts'
import { replyTo } from '../../src/adapters/http/errors.ts'
import { CreateSuperuser } from '../../src/application/accounts/create-superuser.ts'
import { DeleteUser } from '../../src/application/accounts/delete-user.ts'
import { PromoteUser } from '../../src/application/accounts/promote-user.ts'
import { ReadUser } from '../../src/application/accounts/read-user.ts'
import { RegisterUser } from '../../src/application/accounts/register-user.ts'
import { RequestToken } from '../../src/application/accounts/request-token.ts'
import { ResetPassword } from '../../src/application/accounts/reset-password.ts'
import { UpdateUser } from '../../src/application/accounts/update-user.ts'
import { VerifyUser } from '../../src/application/accounts/verify-user.ts'
import { ChangeUser } from '../../src/application/change-user.ts'
import { FinishOAuth } from '../../src/application/oauth/finish-oauth.ts'
import { LinkOAuth } from '../../src/application/oauth/link-oauth.ts'
import { ReadProviderToken } from '../../src/application/oauth/read-provider-token.ts'
import { StartOAuth } from '../../src/application/oauth/start-oauth.ts'
import { UnlinkOAuth } from '../../src/application/oauth/unlink-oauth.ts'
import { Authenticate, type Backend } from '../../src/application/sign-in/authenticate.ts'
import { LogIn } from '../../src/application/sign-in/log-in.ts'
import { LogOut } from '../../src/application/sign-in/log-out.ts'
import { type Email, isEmail, parseEmail } from '../../src/domain/email.ts'
import { InvalidInput } from '../../src/domain/invalid-input.ts'
import { Refusal } from '../../src/domain/refusal.ts'
import { aUser } from '../../src/testing/builders.ts'
import { fixedClock } from '../../src/testing/fixed-clock.ts'
import { deliveryNeeds } from '../support/delivery.ts'

const requestId = 'job-1'
const good = 'a quite long pass phrase'
const email = 'ada@example.com' as Email // safe: it is one

/** What no type lets through, and no object of another kind either. */
const nonStrings: readonly unknown[] = [undefined, null, 5, true, {}, [], ['a'], { $ne: null }, Buffer.from('a')]
const nonIds: readonly unknown[] = [...nonStrings, '', 'nobody', '0190f0f0-0000-7000-8000-00000000000G']
const nonEmails: readonly unknown[] = [
  ...nonStrings,
  '',
  'nobody',
  ' ada@example.com',
  'ada@EXAMPLE.com',
  'ada@BÜCHER.example',
  'ada@bu\u0308cher.example',
  'jose\u0301@example.com',
  'a@b@example.com',
  'ada@example.com\n',
  `${'a'.repeat(65)}@example.com`,
]
const halfPair = 'half of a pair: \ud800'

const reads = /^(find|list|current|passwordSchemes|nextDue|checkSecret)/

/** Every use case on memory stores, with a user who is logged in, and the names of all writes since. */
async function everything() {
  const clock = fixedClock()
  const needs = await deliveryNeeds(clock)
  const user = aUser({ endedUntil: null, sessions: { generation: 0, kept: null } })
  const plain = aUser({ isSuperuser: false, endedUntil: null, sessions: { generation: 0, kept: null } })
  for (const one of [user, plain]) await needs.users.insert(one, [])

  const writes: string[] = []
  const watched = <T extends object>(port: T): T =>
    new Proxy(port, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name)
        if (typeof value !== 'function' || reads.test(String(name))) return value
        return (...args: unknown[]) => {
          writes.push(String(name))
          return Reflect.apply(value, target, args)
        }
      },
    })

  const users = watched(needs.users)
  const tokens = watched(needs.tokens)
  const oauthStates = watched(needs.oauthStates)
  const tokenRequests = watched(needs.tokenRequests)
  const { keyRing } = needs
  const hasher = { hash: async () => '$argon2id$v=19$m=19456,t=2,p=1$salt$hash', verify: async () => 'match' as const }
  const policy = { minLength: 0, isCommon: () => false }
  const vault = providerVault(keyRing.providerTokenKey())
  const changeUser = new ChangeUser({ users })
  const asked: string[] = []
  const eventHandlers = functionHandlers({ on_before_delete: () => void asked.push('on_before_delete') })
  const common = { ...needs, users, tokens, oauthStates, tokenRequests, hasher, policy, vault, changeUser, newId }
  const reportProvider = (): void => undefined
  const all = {
    ...common,
    newToken,
    eventHandlers,
    freshLoginSeconds: null,
    maxOpenJourneys: 10,
    requiresSession: false,
    providerNames: new Set<string>(),
    reportProvider,
  }

  const revoked: unknown[] = []
  const backend: Backend = {
    name: 'jwt',
    requiresVerification: false,
    credentials: {
      recognises: () => true,
      issue: async () => 'credential',
      read: async () => ({ ...by.credential }),
      async revoke(credential) {
        revoked.push(credential)
        return 'remember'
      },
      isEnded: async () => false,
      recordUse: async () => undefined,
    },
  }
  const loggedIn = (who: typeof user) => ({
    user: who,
    credential: { id: newId(), userId: who.id, generation: 0, issuedAt: clock(), expiresAt: clock() },
    backend,
  })
  const by = loggedIn(user)
  const identified: string[] = []
  const provider = {
    name: 'acme',
    scopes: ['email'],
    authorizationUrl: async () => 'https://acme.example/authorize',
    async identify() {
      identified.push('identify')
      throw new Error('nobody is to ask the provider')
    },
    refresh: async () => ({ accessToken: '', refreshToken: null, expiresAt: null }),
  }
  return {
    all,
    by,
    byPlain: loggedIn(plain),
    user,
    plain,
    backend,
    provider,
    writes,
    asked,
    revoked,
    identified,
    needs,
  }
}

type Everything = Awaited<ReturnType<typeof everything>>

interface Case {
  readonly of: string
  /** What the caller is told: a code, or the field of `InvalidInput`. */
  readonly says: string
  /** Calls with one of the wrong values. `never` stands for a caller whom no compiler holds to the types. */
  readonly call: (site: Everything, wrong: never) => Promise<unknown>
  readonly wrong: readonly unknown[]
}

const ways: readonly Case[] = [
  ...[nonEmails].flatMap((wrong): Case[] => [
    {
      of: 'RegisterUser',
      says: 'email',
      wrong,
      call: ({ all }, email) => new RegisterUser(all).execute({ email, password: good, requestId }),
    },
    {
      of: 'CreateSuperuser',
      says: 'email',
      wrong,
      call: ({ all }, email) => new CreateSuperuser(all).execute({ email, password: good, requestId }),
    },
    {
      of: 'PromoteUser',
      says: 'email',
      wrong,
      call: ({ all }, email) => new PromoteUser(all).execute({ email, requestId }),
    },
    {
      of: 'RequestToken',
      says: 'email',
      wrong,
      call: ({ all }, email) => new RequestToken(all).execute({ purpose: 'reset_password', email, requestId }),
    },
    {
      of: 'LogIn',
      says: 'LOGIN_BAD_CREDENTIALS',
      wrong,
      call: ({ all, backend }, email) => new LogIn(strict(all)).execute({ email, password: good, backend, requestId }),
    },
    {
      of: 'UpdateUser.own',
      says: 'email',
      wrong: wrong.filter(isGiven),
      call: ({ all, by }, email) => new UpdateUser(all).own({ by, changes: { email }, requestId }),
    },
    {
      of: 'UpdateUser.any',
      says: 'email',
      wrong: wrong.filter(isGiven),
      call: ({ all, by, plain: target }, email) =>
        new UpdateUser(all).any({ by, target, changes: { email }, requestId }),
    },
  ]),
  ...[[...nonStrings, halfPair]].flatMap((wrong): Case[] => [
    {
      of: 'RegisterUser',
      says: 'password',
      wrong,
      call: ({ all }, password) => new RegisterUser(all).execute({ email, password, requestId }),
    },
    {
      of: 'RegisterUser',
      says: 'requestId',
      wrong,
      call: ({ all }, requestId) => new RegisterUser(all).execute({ email, password: good, requestId }),
    },
    {
      of: 'LogIn',
      says: 'password',
      wrong,
      call: ({ all, user, backend }, password) =>
        new LogIn(all).execute({ email: user.email, password, backend, requestId }),
    },
    {
      of: 'ResetPassword',
      says: 'token',
      wrong,
      call: ({ all }, token) => new ResetPassword(all).execute({ token, password: good, requestId }),
    },
    {
      of: 'ResetPassword',
      says: 'password',
      wrong,
      call: ({ all }, password) => new ResetPassword(all).execute({ token: 'a', password, requestId }),
    },
    {
      of: 'VerifyUser',
      says: 'token',
      wrong,
      call: ({ all }, token) => new VerifyUser(all).execute({ token, requestId }),
    },
    {
      of: 'UpdateUser.own',
      says: 'password',
      wrong: wrong.filter(isGiven),
      call: ({ all, by }, password) => new UpdateUser(all).own({ by, changes: { password }, requestId }),
    },
    {
      of: 'UpdateUser.own',
      says: 'currentPassword',
      wrong: wrong.filter(isGiven),
      call: ({ all, by }, currentPassword) =>
        new UpdateUser(all).own({ by, changes: { email }, currentPassword, requestId }),
    },
    {
      of: 'UpdateUser.any',
      says: 'requestId',
      wrong,
      call: ({ all, by, plain: target }, requestId) =>
        new UpdateUser(all).any({ by, target, changes: { isActive: false }, requestId }),
    },
    {
      of: 'FinishOAuth',
      says: 'requestId',
      wrong,
      call: ({ all, provider, backend }, requestId) =>
        new FinishOAuth(all).execute({
          back: { code: 'a', state: 'a', error: null, iss: null },
          claim: { provider, browserOf: () => null },
          policy: { associateByEmail: true, verifiedByDefault: true, requiresVerification: false },
          backend,
          requestId,
        }),
    },
    {
      of: 'DeleteUser',
      says: 'requestId',
      wrong,
      call: ({ all, plain: target }, requestId) => new DeleteUser(all).execute({ by: 'program', target, requestId }),
    },
  ]),
  {
    of: 'RegisterUser',
    says: 'REGISTER_INVALID_PASSWORD',
    wrong: ['', email, 'x'.repeat(1025)],
    call: ({ all }, password) => new RegisterUser(all).execute({ email, password, requestId }),
  },
  {
    of: 'UpdateUser.own',
    says: 'UPDATE_USER_INVALID_PASSWORD',
    wrong: ['', 'x'.repeat(1025)],
    call: ({ all, by }, password) => new UpdateUser(all).own({ by, changes: { password }, requestId }),
  },
  ...(['isActive', 'isSuperuser', 'isVerified'] as const).map(
    (flag): Case => ({
      of: 'UpdateUser.any',
      says: flag,
      wrong: ['false', 'true', 0, 1, {}, []],
      call: ({ all, by, plain: target }, value) =>
        new UpdateUser(all).any({ by, target, changes: { [flag]: value }, requestId }),
    }),
  ),
  {
    of: 'UpdateUser.any',
    says: 'NOT_FOUND',
    wrong: [null, undefined, {}, ...nonIds.map((id) => ({ id }))],
    call: ({ all, by }, target) => new UpdateUser(all).any({ by, target, changes: { isActive: false }, requestId }),
  },
  {
    of: 'UpdateUser.any',
    says: 'FORBIDDEN',
    wrong: [{}],
    call: ({ all, byPlain: by, user: target }) =>
      new UpdateUser(all).any({ by, target, changes: { isActive: false }, requestId }),
  },
  {
    // Whether there is such a user is not for everybody to know.
    of: 'UpdateUser.any',
    says: 'FORBIDDEN',
    wrong: [null, {}, { id: 'nobody' }],
    call: ({ all, byPlain: by }, target) =>
      new UpdateUser(all).any({ by, target, changes: { isActive: false }, requestId }),
  },
  {
    of: 'DeleteUser',
    says: 'NOT_FOUND',
    wrong: [null, undefined, {}, ...nonIds.map((id) => ({ id }))],
    call: ({ all }, target) => new DeleteUser(all).execute({ by: 'program', target, requestId }),
  },
  {
    of: 'DeleteUser',
    says: 'FORBIDDEN',
    wrong: [null, {}, { id: 'nobody' }],
    call: ({ all, byPlain: by }, target) => new DeleteUser(all).execute({ by, target, requestId }),
  },
  {
    of: 'RequestToken',
    says: 'purpose',
    wrong: [...nonStrings, '', 'deliver', 'constructor'],
    call: ({ all }, purpose) => new RequestToken(all).execute({ purpose, email, requestId }),
  },
  {
    of: 'ResetPassword',
    says: 'RESET_PASSWORD_BAD_TOKEN',
    wrong: ['', 'a', 'x'.repeat(100_000)],
    call: ({ all }, token) => new ResetPassword(all).execute({ token, password: good, requestId }),
  },
  {
    of: 'VerifyUser',
    says: 'VERIFY_USER_BAD_TOKEN',
    wrong: ['', 'a', 'x'.repeat(100_000)],
    call: ({ all }, token) => new VerifyUser(all).execute({ token, requestId }),
  },
  {
    of: 'StartOAuth',
    says: 'flow',
    wrong: [{ flow: 'login', by: {} }, { flow: 'other', by: null }, { flow: 'login' }],
    call: ({ all, provider }, journey: object) =>
      new StartOAuth(all).execute({
        flow: 'login',
        provider,
        scopes: null,
        redirectUri: 'https://a.example/',
        ...({ by: undefined, ...journey } as { by: never }), // safe: the wrong value is the point
      }),
  },
  {
    of: 'StartOAuth',
    says: 'redirectUri',
    wrong: [...nonStrings, '', '/callback'],
    call: ({ all, provider }, redirectUri) =>
      new StartOAuth(all).execute({ flow: 'login', by: null, provider, scopes: null, redirectUri }),
  },
  {
    of: 'StartOAuth',
    says: 'scopes',
    wrong: ['email', 5, {}],
    call: ({ all, provider }, scopes) =>
      new StartOAuth(all).execute({ flow: 'login', by: null, provider, scopes, redirectUri: 'https://a.example/' }),
  },
  {
    of: 'StartOAuth',
    says: 'OAUTH_SCOPE_NOT_ALLOWED',
    wrong: [['admin'], [null], [['email']]],
    call: ({ all, provider }, scopes) =>
      new StartOAuth(all).execute({ flow: 'login', by: null, provider, scopes, redirectUri: 'https://a.example/' }),
  },
  {
    of: 'FinishOAuth',
    says: 'OAUTH_CODE_REFUSED',
    wrong: [{}, { state: 'a' }, { code: 5 }, { code: ['a'], state: 'a' }, { code: 'a', error: 'access_denied' }],
    call: ({ all, provider, backend }, back) =>
      new FinishOAuth(all).execute({
        back,
        claim: { provider, browserOf: () => null },
        policy: { associateByEmail: true, verifiedByDefault: true, requiresVerification: false },
        backend,
        requestId,
      }),
  },
  {
    of: 'LinkOAuth',
    says: 'OAUTH_INVALID_STATE',
    wrong: [{ code: 'a' }, { code: 'a', state: {} }, { code: 'a', state: ['a'] }, { code: 'a', state: 'a' }],
    call: ({ all, provider, by }, back) =>
      new LinkOAuth(all).execute({ back, claim: { provider, browserOf: () => null }, by, requestId }),
  },
]

/** Nobody who acts, or somebody with the credential of somebody else. */
const nobodies: readonly ((site: Everything) => unknown)[] = [
  () => null,
  () => undefined,
  () => ({}),
  ({ by }) => ({ ...by, user: undefined }),
  ({ by }) => ({ ...by, credential: undefined }),
  ({ by, plain }) => ({ ...by, user: plain }),
  ({ by, byPlain }) => ({ ...by, credential: byPlain.credential }),
  ({ by }) => ({
    ...by,
    user: { ...by.user, id: { $ne: null } },
    credential: { ...by.credential, userId: { $ne: null } },
  }),
  ({ by }) => ({ ...by, credential: { ...by.credential, id: 5 } }),
  ({ by }) => ({ ...by, credential: { ...by.credential, expiresAt: 'never' } }),
]

const acting: Readonly<Record<string, (site: Everything, by: never) => Promise<unknown>>> = {
  'UpdateUser.own': ({ all }, by) => new UpdateUser(all).own({ by, changes: { password: good }, requestId }),
  'UpdateUser.any': ({ all, plain: target }, by) =>
    new UpdateUser(all).any({ by, target, changes: { isSuperuser: true }, requestId }),
  LogOut: ({ all }, by) => new LogOut(all).execute(by),
  LinkOAuth: ({ all, provider }, by) =>
    new LinkOAuth(all).execute({
      back: { code: 'a', state: 'a', error: null, iss: null },
      claim: { provider, browserOf: () => 'a' },
      by,
      requestId,
    }),
  StartOAuth: ({ all, provider }, by) =>
    new StartOAuth(all).execute({ flow: 'link', by, provider, scopes: null, redirectUri: 'https://a.example/' }),
  UnlinkOAuth: ({ all, user }, by) =>
    new UnlinkOAuth(all).execute({ by, provider: 'acme', id: user.oauthAccounts[0]?.id ?? '', requestId }),
  DeleteUser: ({ all, plain: target }, by) => new DeleteUser(all).execute({ by, target, requestId }),
  VerifyUser: ({ all }, by) => new VerifyUser({ ...all, requiresSession: true }).execute({ token: 'a', by, requestId }),
}

/** `null` and `undefined` in a field of changes are the same as not given, as on the routes. */
function isGiven(value: unknown): boolean {
  return value !== null && value !== undefined
}

/** Lets nobody in without a hash to be compared with. */
function strict<T extends object>(all: T) {
  const verify = async (_: string, hash: string | null) => (hash === null ? ('mismatch' as const) : ('match' as const))
  return { ...all, hasher: { hash: async () => '', verify } }
}

function toldBy(thrown: unknown): string {
  if (thrown instanceof Refusal) return thrown.code
  if (thrown instanceof InvalidInput) return thrown.field
  return `${thrown}`
}

const shown = (value: unknown): string => (JSON.stringify(value) ?? String(value)).slice(0, 60)

describe('a use case that is called with what no route lets through', () => {
  for (const { of, says, call, wrong } of ways) {
    it(`refuses it and writes nothing: ${of}, ${says}`, async () => {
      expect(wrong).to.not.deep.equal([])
      for (const value of wrong) {
        const site = await everything()
        // Safe: a wrong value is the point.
        const thrown = await call(site, value as never).then(
          () => 'nothing was thrown',
          (error: unknown) => error,
        )
        expect(toldBy(thrown), shown(value)).to.equal(says)
        expect(site.writes.filter((name) => name !== 'take')).to.deep.equal([])
        expect([...site.asked, ...site.identified]).to.deep.equal([])
        if (thrown instanceof InvalidInput) expect(replyTo(thrown)?.status).to.equal(422)
      }
    })
  }

  for (const [of, call] of Object.entries(acting)) {
    it(`acts for nobody, and for nobody by the credential of another: ${of}`, async () => {
      for (const nobody of nobodies) {
        const site = await everything()
        const thrown = await call(site, nobody(site) as never).catch((error: unknown) => error) // safe: as above
        expect(toldBy(thrown), nobody.toString()).to.equal('UNAUTHORIZED')
        expect([site.writes, site.revoked, site.identified]).to.deep.equal([[], [], []])
      }
    })
  }

  it('finds nobody by what is no id, and asks no store', async () => {
    for (const id of nonIds) {
      const { all, provider } = await everything()
      const find = () => expect.fail('a store was asked')
      const needs = { ...all, users: { ...all.users, find } }
      expect(await new ReadUser(needs).execute(id as never)).to.equal(null) // safe: as above
      const wanted = { userId: id as never, provider, accountId: 'a' }
      expect(await new ReadProviderToken(needs).execute(wanted)).to.equal(null)
      const changeUser = new ChangeUser(needs)
      expect(await changeUser.execute(id as never, () => expect.fail('judged'))).to.deep.equal({ type: 'gone' })
    }
  })

  it('authenticates nobody by what is no string', async () => {
    for (const value of nonStrings) {
      const { all, backend } = await everything()
      expect(await new Authenticate(all).execute([{ backend, value: value as never }])).to.equal(null) // safe: as above
    }
  })

  it('takes a user’s own address and password from what a caller passes on whole, and never a right', async () => {
    const { all, byPlain, needs } = await everything()
    const changes = { email, isSuperuser: true, isVerified: true, isActive: false, passwordHash: 'x', version: 99 }
    await new UpdateUser(all).own({ by: byPlain, changes, requestId })
    const user = await needs.users.find(byPlain.user.id)
    expect(user).to.deep.include({ email, isSuperuser: false, isVerified: false, isActive: true })
    expect(user?.passwordHash).to.equal(byPlain.user.passwordHash)
  })

  it('registers nobody with more than a registration gives', async () => {
    const { all, needs } = await everything()
    const more = { isSuperuser: true, isVerified: true, id: newId(), version: 7, oauthAccounts: [{}] }
    const { id } = await new RegisterUser(all).execute({ email, password: good, requestId, ...more })
    const user = await needs.users.find(id)
    expect(user).to.deep.include({ isSuperuser: false, isVerified: false, oauthAccounts: [], version: 1 })
    expect(id).to.not.equal(more.id)
  })

  it('takes null in a field of changes for nothing, as the routes do', async () => {
    const { all, by, plain, writes } = await everything()
    const nothing = { email: null, password: null, isActive: null, isSuperuser: null, isVerified: null }
    await new UpdateUser(all).any({ by, target: plain, changes: nothing as never, requestId }) // safe: as above
    expect(writes).to.deep.equal([])
  })
})

describe('the judgement whether a value is an address', () => {
  it('lets through whatever parseEmail gives, and no other spelling', () => {
    for (const text of [' Ada@EXAMPLE.com', 'a@BÜCHER.example', 'a@faß.example', 'a@ꭰꭱ.example', 'jose\u0301@x.org']) {
      const parsed = parseEmail(text, domainToUnicode)
      expect('email' in parsed && isEmail(parsed.email), text).to.equal(true)
    }
    for (const value of nonEmails) expect(isEmail(value), shown(value)).to.equal(false)
  })
})
