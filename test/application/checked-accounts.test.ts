import { domainToUnicode } from 'node:url'
import { expect } from 'chai'
import { newId } from '../../src/adapters/crypto/new-id.ts'
import { providerVault } from '../../src/adapters/crypto/provider-vault.ts'
import { CreateSuperuser } from '../../src/application/accounts/create-superuser.ts'
import { DeleteUser } from '../../src/application/accounts/delete-user.ts'
import { PromoteUser } from '../../src/application/accounts/promote-user.ts'
import { ReadUser } from '../../src/application/accounts/read-user.ts'
import { RegisterUser } from '../../src/application/accounts/register-user.ts'
import { RequestToken } from '../../src/application/accounts/request-token.ts'
import { ResetPassword } from '../../src/application/accounts/reset-password.ts'
import { UpdateUser } from '../../src/application/accounts/update-user.ts'
import { VerifyUser } from '../../src/application/accounts/verify-user.ts'
import { type CheckedAccounts, checkedAccounts } from '../../src/application/checked-accounts.ts'
import { ReadProviderToken } from '../../src/application/oauth/read-provider-token.ts'
import { UnlinkOAuth } from '../../src/application/oauth/unlink-oauth.ts'
import { Authenticate, type Backend } from '../../src/application/sign-in/authenticate.ts'
import { LogIn } from '../../src/application/sign-in/log-in.ts'
import { LogOut } from '../../src/application/sign-in/log-out.ts'
import { type Email, isEmail, parseEmail } from '../../src/domain/email.ts'
import { InvalidInput } from '../../src/domain/invalid-input.ts'
import { Refusal } from '../../src/domain/refusal.ts'
import { aUser } from '../../src/testing/builders.ts'
import { fixedClock } from '../../src/testing/fixed-clock.ts'
import { quickHasher } from '../../src/testing/quick-hasher.ts'
import { recordedHandlers } from '../../src/testing/recorded-handlers.ts'
import { changeUserOf, deliveryNeeds } from '../support/delivery.ts'

const requestId = 'job-1'
const password = 'a quite long pass phrase'
const email = 'ada@example.com' as Email // safe: it is one

const nonStrings: readonly unknown[] = [undefined, null, 5, true, {}, [], ['a'], { $ne: null }, Buffer.from('a')]
const nonTexts: readonly unknown[] = [...nonStrings, 'half of a pair: \ud800']
const nonIds: readonly unknown[] = [...nonStrings, '', 'nobody', '0190f0f0-0000-7000-8000-00000000000G']
const nonTargets: readonly unknown[] = [null, undefined, {}, ...nonIds.map((id) => ({ id }))]
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

/** All use cases on memory stores, two users, of whom `root` is a superuser, and the names of all writes since. */
async function scene() {
  const clock = fixedClock()
  const stores = await deliveryNeeds(clock)
  const fields = { endedUntil: null, sessions: { generation: 0, keptCredentialId: null } }
  const [root, plain] = [aUser({ ...fields, isSuperuser: true }), aUser({ ...fields, isSuperuser: false })]
  for (const user of [root, plain]) await stores.users.insert(user, [])

  const writes: string[] = []
  const reads = /^(find|current)/
  const watched = <T extends object>(port: T): T =>
    new Proxy(port, {
      get(target, name) {
        if (!reads.test(String(name))) writes.push(String(name))
        return Reflect.get(target, name)
      },
    })
  const users = watched(stores.users)
  const needs = {
    ...stores,
    users,
    tokens: watched(stores.tokens),
    tokenRequests: watched(stores.tokenRequests),
    changeUser: changeUserOf(users),
    hasher: quickHasher,
    policy: { minLength: 0, isCommon: () => false },
    vault: providerVault(stores.keyRing.providerTokenKey),
    eventHandlers: recordedHandlers(() => void writes.push('a handler')),
    newId,
    freshLoginSeconds: null,
    requiresSession: true,
    providerNames: new Set<string>(),
    reportProvider: () => undefined,
  }
  const backend: Backend = {
    name: 'jwt',
    requiresVerification: false,
    credentials: {
      recognises: () => true,
      issue: async () => 'credential',
      read: async () => loggedIn(root).credential,
      async revoke() {
        writes.push('revoke')
        return 'remember'
      },
      isEnded: async () => false,
      recordUse: async () => undefined,
    },
  }
  const loggedIn = (user: typeof root) => ({
    user,
    credential: { id: newId(), userId: user.id, generation: 0, issuedAt: clock(), expiresAt: clock() },
    backend,
  })
  const accounts = checkedAccounts({
    registerUser: new RegisterUser(needs),
    createSuperuser: new CreateSuperuser(needs),
    promoteUser: new PromoteUser(needs),
    logIn: new LogIn(needs),
    logOut: new LogOut(needs),
    authenticate: new Authenticate(needs),
    requestToken: new RequestToken(needs),
    resetPassword: new ResetPassword(needs),
    verifyUser: new VerifyUser(needs),
    readUser: new ReadUser(needs),
    updateUser: new UpdateUser(needs),
    deleteUser: new DeleteUser(needs),
    unlinkOAuth: new UnlinkOAuth(needs),
    readProviderToken: new ReadProviderToken(needs),
  })
  return { accounts, root, plain, by: loggedIn(root), byPlain: loggedIn(plain), backend, writes, users: stores.users }
}

type Scene = Awaited<ReturnType<typeof scene>>
/** `never` stands for the values of callers without a compiler. */
type Call = (accounts: CheckedAccounts, wrong: never, scene: Scene) => Promise<unknown>

/** Use case, refusal or field of `InvalidInput`, wrong values, call. */
const wrongInputs: readonly (readonly [string, string, readonly unknown[], Call])[] = [
  ['registerUser', 'email', nonEmails, (to, email) => to.registerUser.execute({ email, password, requestId })],
  ['registerUser', 'password', nonTexts, (to, password) => to.registerUser.execute({ email, password, requestId })],
  ['registerUser', 'requestId', nonTexts, (to, requestId) => to.registerUser.execute({ email, password, requestId })],
  [
    'registerUser',
    'REGISTER_INVALID_PASSWORD',
    ['', email, 'x'.repeat(1025)],
    (to, password) => to.registerUser.execute({ email, password, requestId }),
  ],
  ['createSuperuser', 'email', nonEmails, (to, email) => to.createSuperuser.execute({ email, password, requestId })],
  ['promoteUser', 'email', nonEmails, (to, email) => to.promoteUser.execute({ email, requestId })],
  [
    'requestToken',
    'email',
    nonEmails,
    (to, email) => to.requestToken.execute({ purpose: 'reset_password', email, requestId }),
  ],
  [
    'requestToken',
    'purpose',
    [...nonStrings, '', 'deliver', 'constructor'],
    (to, purpose) => to.requestToken.execute({ purpose, email, requestId }),
  ],
  [
    'logIn',
    'LOGIN_BAD_CREDENTIALS',
    nonEmails,
    (to, email, { backend }) => to.logIn.execute({ email, password, backend, requestId }),
  ],
  [
    'logIn',
    'password',
    nonTexts,
    (to, password, { root: { email }, backend }) => to.logIn.execute({ email, password, backend, requestId }),
  ],
  ['resetPassword', 'token', nonTexts, (to, token) => to.resetPassword.execute({ token, password, requestId })],
  [
    'resetPassword',
    'RESET_PASSWORD_BAD_TOKEN',
    ['', 'a', 'x'.repeat(100_000)],
    (to, token) => to.resetPassword.execute({ token, password, requestId }),
  ],
  [
    'resetPassword',
    'password',
    nonTexts,
    (to, password) => to.resetPassword.execute({ token: 'a', password, requestId }),
  ],
  ['verifyUser', 'token', nonTexts, (to, token, { by }) => to.verifyUser.execute({ token, by, requestId })],
  [
    'verifyUser',
    'VERIFY_USER_BAD_TOKEN',
    ['', 'a', 'x'.repeat(100_000)],
    (to, token, { by }) => to.verifyUser.execute({ token, by, requestId }),
  ],
  ...(['email', 'password'] as const).map((field) => {
    const wrong = (field === 'email' ? nonEmails : nonTexts).filter((value) => value !== null && value !== undefined)
    const call: Call = (to, value, { by }) => to.updateUser.own({ by, changes: { [field]: value }, requestId })
    return ['updateUser.own', field, wrong, call] as const
  }),
  [
    'updateUser.own',
    'currentPassword',
    [5, {}, ['a'], '\ud800'],
    (to, currentPassword, { by }) => to.updateUser.own({ by, changes: { email }, currentPassword, requestId }),
  ],
  [
    'updateUser.own',
    'UPDATE_USER_INVALID_PASSWORD',
    ['', 'x'.repeat(1025)],
    (to, password, { by }) => to.updateUser.own({ by, changes: { password }, requestId }),
  ],
  ...(['isActive', 'isSuperuser', 'isVerified'] as const).map((flag) => {
    const call: Call = (to, value, { by, plain: target }) =>
      to.updateUser.any({ by, target, changes: { [flag]: value }, requestId })
    return ['updateUser.any', flag, ['false', 'true', 0, 1, {}, []], call] as const
  }),
  [
    'updateUser.any',
    'NOT_FOUND',
    nonTargets,
    (to, target, { by }) => to.updateUser.any({ by, target, changes: { isActive: false }, requestId }),
  ],
  [
    'updateUser.any by a user who is no superuser',
    'FORBIDDEN',
    [aUser(), null, {}, { id: 'nobody' }],
    (to, target, { byPlain: by }) => to.updateUser.any({ by, target, changes: { isActive: false }, requestId }),
  ],
  [
    'updateUser.any',
    'requestId',
    nonTexts,
    (to, requestId, { by, plain: target }) =>
      to.updateUser.any({ by, target, changes: { isActive: false }, requestId }),
  ],
  ['deleteUser', 'NOT_FOUND', nonTargets, (to, target) => to.deleteUser.execute({ by: 'program', target, requestId })],
  [
    'deleteUser by a user who is no superuser',
    'FORBIDDEN',
    [aUser(), null, {}, { id: 'nobody' }],
    (to, target, { byPlain: by }) => to.deleteUser.execute({ by, target, requestId }),
  ],
  [
    'deleteUser',
    'requestId',
    nonTexts,
    (to, requestId, { plain: target }) => to.deleteUser.execute({ by: 'program', target, requestId }),
  ],
]

/** No user at all, or a user with the credential of another one. */
const impostors: readonly ((scene: Scene) => unknown)[] = [
  () => null,
  () => undefined,
  () => ({}),
  ({ by }) => ({ ...by, user: undefined }),
  ({ by }) => ({ ...by, credential: undefined }),
  ({ by, plain }) => ({ ...by, user: plain }),
  ({ by, byPlain }) => ({ ...by, credential: byPlain.credential }),
  ({ by: { user, credential } }) => ({
    user: { ...user, id: { $ne: null } },
    credential: { ...credential, userId: { $ne: null } },
  }),
  ({ by }) => ({ ...by, credential: { ...by.credential, id: 5 } }),
  ({ by }) => ({ ...by, credential: { ...by.credential, expiresAt: 'never' } }),
]

const actsOfUsers: readonly (readonly [string, Call])[] = [
  ['updateUser.own', (to, by) => to.updateUser.own({ by, changes: { password }, requestId })],
  [
    'updateUser.any',
    (to, by, { plain: target }) => to.updateUser.any({ by, target, changes: { isSuperuser: true }, requestId }),
  ],
  ['logOut', (to, by) => to.logOut.execute(by)],
  ['unlinkOAuth', (to, by) => to.unlinkOAuth.execute({ by, provider: 'acme', id: 'of-a-link', requestId })],
  ['deleteUser', (to, by, { plain: target }) => to.deleteUser.execute({ by, target, requestId })],
  ['verifyUser', (to, by) => to.verifyUser.execute({ token: 'a', by, requestId })],
]

async function answerTo(call: Call, site: Scene, wrong: unknown): Promise<unknown> {
  // Safe: a wrong value is the point.
  const thrown = await call(site.accounts, wrong as never, site).catch((error: unknown) => error)
  if (thrown instanceof Refusal) return thrown.code
  return thrown instanceof InvalidInput ? thrown.field : thrown
}

const shown = (value: unknown): string => (JSON.stringify(value) ?? String(value)).slice(0, 60)

describe('the use cases of a program without a compiler', () => {
  for (const [useCase, answer, values, call] of wrongInputs) {
    it(`refuse wrong input and write nothing: ${useCase}, ${answer}`, async () => {
      expect(values).to.not.deep.equal([])
      for (const value of values) {
        const site = await scene()
        expect(await answerTo(call, site, value), shown(value)).to.equal(answer)
        expect(site.writes).to.deep.equal([])
      }
    })
  }

  for (const [useCase, call] of actsOfUsers) {
    it(`need a user with a credential of their own: ${useCase}`, async () => {
      for (const impostor of impostors) {
        const site = await scene()
        expect(await answerTo(call, site, impostor(site)), impostor.toString()).to.equal('UNAUTHORIZED')
        expect(site.writes).to.deep.equal([])
      }
    })
  }

  it('find no user by a wrong id, and authenticate nobody by a wrong value', async () => {
    const { accounts, backend } = await scene()
    const provider = {} as never // safe: it is not called
    for (const wrong of nonIds) {
      const userId = wrong as never // safe: as above
      expect(await accounts.readUser.execute(userId)).to.equal(null)
      expect(await accounts.readProviderToken.execute({ userId, provider, accountId: 'a' })).to.equal(null)
    }
    for (const value of nonStrings) {
      expect(await accounts.authenticate.execute([{ backend, value: value as never }])).to.equal(null) // safe: as above
    }
    expect(await accounts.authenticate.execute([{ backend, value: 'a' }])).to.not.equal(null)
  })

  it('take the address and password of a user from a whole object, and never a right', async () => {
    const { accounts, byPlain: by, users } = await scene()
    const changes = { email, isSuperuser: true, isVerified: true, isActive: false, passwordHash: 'x', version: 99 }
    await accounts.updateUser.own({ by, changes, requestId })
    const { passwordHash } = by.user
    const rights = { isSuperuser: false, isVerified: false, isActive: true }
    expect(await users.find(by.user.id)).to.deep.include({ email, passwordHash, ...rights })
  })

  it('register nobody with more than an address and a password', async () => {
    const { accounts, users } = await scene()
    const more = { isSuperuser: true, isVerified: true, id: newId(), version: 7, oauthAccounts: [{}] }
    const { id } = await accounts.registerUser.execute({ email, password, requestId, ...more })
    const stored = { isSuperuser: false, isVerified: false, oauthAccounts: [], version: 1 }
    expect(await users.find(id)).to.deep.include(stored)
    expect(id).to.not.equal(more.id)
  })

  it('take null in a field of changes as not given', async () => {
    const { accounts, by, plain: target, writes } = await scene()
    const changes = { email: null, password: null, isActive: null, isSuperuser: null, isVerified: null }
    await accounts.updateUser.any({ by, target, changes: changes as never, requestId }) // safe: as above
    expect(writes).to.deep.equal([])
  })
})

describe('isEmail', () => {
  it('accepts addresses as parseEmail returns them, and no other spelling', () => {
    for (const text of [' Ada@EXAMPLE.com', 'a@BÜCHER.example', 'a@faß.example', 'a@ꭰꭱ.example', 'jose\u0301@x.org']) {
      const parsed = parseEmail(text, domainToUnicode)
      expect('email' in parsed && isEmail(parsed.email), text).to.equal(true)
    }
    for (const value of nonEmails) expect(isEmail(value), shown(value)).to.equal(false)
  })
})
