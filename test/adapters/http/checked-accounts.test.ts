import { Session } from 'node:inspector'
import { domainToUnicode } from 'node:url'
import { expect } from 'chai'
import { newId } from '../../../src/adapters/crypto/new-id.ts'
import { providerVault } from '../../../src/adapters/crypto/provider-vault.ts'
import { type CheckedAccounts, checkedAccounts } from '../../../src/adapters/http/checked-accounts.ts'
import { ChangeAccount } from '../../../src/application/accounts/change-account.ts'
import { ChangeOwnAccount } from '../../../src/application/accounts/change-own-account.ts'
import { CreateSuperuser } from '../../../src/application/accounts/create-superuser.ts'
import { DeleteUser } from '../../../src/application/accounts/delete-user.ts'
import { ExportUser } from '../../../src/application/accounts/export-user.ts'
import { PromoteUser } from '../../../src/application/accounts/promote-user.ts'
import { ReadUser } from '../../../src/application/accounts/read-user.ts'
import { RegisterUser } from '../../../src/application/accounts/register-user.ts'
import { ReadProviderToken } from '../../../src/application/oauth/read-provider-token.ts'
import { UnlinkOAuth } from '../../../src/application/oauth/unlink-oauth.ts'
import { RejectAccount } from '../../../src/application/one-time-tokens/reject-account.ts'
import { RequestToken } from '../../../src/application/one-time-tokens/request-token.ts'
import { ResetPassword } from '../../../src/application/one-time-tokens/reset-password.ts'
import { VerifyUser } from '../../../src/application/one-time-tokens/verify-user.ts'
import { Authenticate, type Authenticated, type Backend } from '../../../src/application/sign-in/authenticate.ts'
import { EndSession } from '../../../src/application/sign-in/end-session.ts'
import { ListSessions } from '../../../src/application/sign-in/list-sessions.ts'
import { LogIn } from '../../../src/application/sign-in/log-in.ts'
import { LogOut } from '../../../src/application/sign-in/log-out.ts'
import { LogOutEverywhere } from '../../../src/application/sign-in/log-out-everywhere.ts'
import { type Email, isEmail, parseEmail } from '../../../src/domain/email.ts'
import { InvalidInput, Refusal } from '../../../src/domain/refusal.ts'
import type { User } from '../../../src/domain/user.ts'
import { aCredential, aUser } from '../../../src/testing/builders.ts'
import { fixedClock } from '../../../src/testing/fixed-clock.ts'
import { quickHasher } from '../../../src/testing/quick-hasher.ts'
import { recordedHandlers } from '../../../src/testing/recorded-handlers.ts'
import { changeUserOf, deliveryNeeds } from '../../support/scenes/delivery.ts'

const requestId = 'job-1'
const languages = ['de-CH', 'en']
const password = 'a quite long pass phrase'
const rights = { isSuperuser: true, isVerified: true }
const email = 'ada@example.com' as Email // safe: it is one
const other = 'bob@example.com' as Email // safe: as above

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
  `${'a'.repeat(250)}@example.com`,
]

/** All use cases on memory stores, two users, of whom `root` is a superuser, and the names of all writes since. */
async function scene() {
  const clock = fixedClock()
  const stores = await deliveryNeeds(clock)
  const fields = { endedUntil: null, sessions: { generation: 0, keptSid: null } }
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
    deviceTokens: { idOf: () => null, issue: () => 'a device token' },
    requiresSession: true,
    providerNames: new Set<string>(),
    reportProvider: () => undefined,
  }
  const backend: Backend = {
    name: 'jwt',
    requiresVerification: false,
    credentials: {
      recognises: () => true,
      issue: async () => ({ value: 'credential', credential: loggedIn(root).credential }),
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
    credential: aCredential({ userId: user.id, provedAt: clock() }),
    backend,
  })
  const accounts = checkedAccounts({
    registerUser: new RegisterUser(needs),
    createSuperuser: new CreateSuperuser(needs),
    promoteUser: new PromoteUser(needs),
    logIn: new LogIn(needs),
    finishLogin: { execute: async () => expect.fail('the challenge is unknown') },
    logOut: new LogOut(needs),
    logOutEverywhere: new LogOutEverywhere(needs),
    listSessions: new ListSessions(needs),
    exportUser: new ExportUser(needs),
    endSession: new EndSession(needs),
    authenticate: new Authenticate(needs),
    requestToken: new RequestToken(needs),
    resetPassword: new ResetPassword(needs),
    verifyUser: new VerifyUser(needs),
    rejectAccount: new RejectAccount(needs),
    readUser: new ReadUser(needs),
    changeAccount: new ChangeAccount(needs),
    changeOwnAccount: new ChangeOwnAccount(needs),
    deleteUser: new DeleteUser(needs),
    unlinkOAuth: new UnlinkOAuth(needs),
    readProviderToken: new ReadProviderToken(needs),
  })
  return {
    accounts,
    root,
    plain,
    by: loggedIn(root),
    byPlain: loggedIn(plain),
    backend,
    writes,
    users: stores.users,
    outbox: stores.outbox,
  }
}

type Scene = Awaited<ReturnType<typeof scene>>
type Input = Readonly<Record<string, unknown>>

interface UseCase {
  /** Safe: `never` stands for the values of callers without a compiler. */
  readonly call: (accounts: CheckedAccounts, input: never) => Promise<unknown>
  /** Input that the use case takes. */
  readonly input: (site: Scene) => Input
  /** Answers that differ from `answerOf`. */
  readonly answers?: Readonly<Record<string, string>>
}

/** Changes are flat in the inputs of these tests. */
const nested = ({ email, password, isActive, isSuperuser, isVerified, ...input }: Input) =>
  ({ ...input, changes: { email, password, isActive, isSuperuser, isVerified } }) as never // safe: as above

const useCases: Readonly<Record<string, UseCase>> = {
  registerUser: {
    call: (to, input) => to.registerUser.execute(input),
    input: () => ({ email, password, requestId, languages }),
  },
  createSuperuser: {
    call: (to, input) => to.createSuperuser.execute(input),
    input: () => ({ email, password, requestId }),
  },
  promoteUser: { call: (to, input) => to.promoteUser.execute(input), input: () => ({ email, requestId }) },
  requestToken: {
    call: (to, input) => to.requestToken.execute(input),
    input: () => ({ purpose: 'reset_password', email, requestId, languages }),
  },
  logIn: {
    call: (to, input) => to.logIn.execute(input),
    input: ({ root, backend }) => ({ email: root.email, password, backend, requestId }),
    answers: { email: 'LOGIN_BAD_CREDENTIALS' },
  },
  logOut: { call: (to, { by }) => to.logOut.execute(by), input: ({ by }) => ({ by }) },
  logOutEverywhere: {
    call: (to, input) => to.logOutEverywhere.execute(input),
    input: ({ by, plain: target }) => ({ by, target, requestId }),
  },
  listSessions: {
    call: (to, input) => to.listSessions.execute(input),
    input: ({ by, plain: target }) => ({ by, target }),
  },
  exportUser: {
    call: (to, input) => to.exportUser.execute(input),
    input: ({ by, root: target }) => ({ by, target }),
  },
  endSession: {
    call: (to, { sessionId: id, ...input }: { by: Authenticated; target: User; sessionId: string }) =>
      to.endSession.execute({ ...input, id }),
    input: ({ by, plain: target }) => ({ by, target, sessionId: 'of-a-session' }),
    answers: { sessionId: 'id' },
  },
  'endSession by a user': {
    call: (to, { sessionId: id, ...input }: { by: Authenticated; target: User; sessionId: string }) =>
      to.endSession.execute({ ...input, id }),
    input: ({ byPlain, root: target }) => ({ by: byPlain, target, sessionId: 'of-a-session' }),
    answers: { target: 'FORBIDDEN', sessionId: 'id' },
  },
  resetPassword: {
    call: (to, input) => to.resetPassword.execute(input),
    input: () => ({ token: 'a', password, requestId }),
  },
  verifyUser: {
    call: (to, input) => to.verifyUser.execute(input),
    input: ({ by }) => ({ token: 'a', by, requestId }),
  },
  rejectAccount: {
    call: (to, input) => to.rejectAccount.execute(input),
    input: () => ({ token: 'a', requestId }),
  },
  unlinkOAuth: {
    call: (to, input) => to.unlinkOAuth.execute(input),
    input: ({ by }) => ({ by, provider: 'acme', id: 'of-a-link', requestId }),
  },
  changeOwnAccount: {
    call: (to, input) => to.changeOwnAccount.execute(nested(input)),
    input: ({ by }) => ({ by, email, password, currentPassword: password, requestId, languages }),
  },
  changeAccount: {
    call: (to, input) => to.changeAccount.execute(nested(input)),
    input: ({ by, plain: target }) => ({ by, target, email, password, isActive: false, ...rights, requestId }),
  },
  'changeAccount by a user': {
    call: (to, input) => to.changeAccount.execute(nested(input)),
    input: ({ byPlain, root: target }) => ({ by: byPlain, target, requestId }),
    answers: { target: 'FORBIDDEN' },
  },
  deleteUser: {
    call: (to, input) => to.deleteUser.execute(input),
    input: ({ by, plain: target }) => ({ by, target, requestId, languages }),
  },
  'deleteUser by the program': {
    call: (to, { target, requestId }) => to.deleteUser.execute({ by: { type: 'program' }, target, requestId }),
    input: ({ plain: target }) => ({ target, requestId }),
  },
  'deleteUser by a user': {
    call: (to, input) => to.deleteUser.execute(input),
    input: ({ byPlain, root: target }) => ({ by: byPlain, target, requestId }),
    answers: { target: 'FORBIDDEN' },
  },
}

/** No user at all, or a user with the credential of another one. */
const impostors = ({ by, byPlain, plain }: Scene): readonly unknown[] => [
  null,
  undefined,
  {},
  { ...by, user: undefined },
  { ...by, credential: undefined },
  { ...by, user: plain },
  { ...by, credential: byPlain.credential },
  { user: { ...by.user, id: { $ne: null } }, credential: { ...by.credential, userId: { $ne: null } } },
  { ...by, credential: { ...by.credential, id: 5 } },
  { ...by, credential: { ...by.credential, expiresAt: 'never' } },
]

const nonFlags = ['false', 'true', 0, 1, {}, []]
const wrongValues: Readonly<Record<string, readonly unknown[]>> = {
  email: nonEmails,
  password: nonTexts,
  currentPassword: nonTexts,
  token: nonTexts,
  backend: [...nonStrings, 'jwt'],
  sessionId: nonTexts,
  requestId: nonTexts,
  languages: ['de', ['de', 5], [null], { 0: 'de' }],
  purpose: [...nonStrings, '', 'deliver', 'constructor'],
  target: nonTargets,
  isActive: nonFlags,
  isSuperuser: nonFlags,
  isVerified: nonFlags,
}
const answerOf = (field: string): string => ({ by: 'UNAUTHORIZED', target: 'NOT_FOUND' })[field] ?? field

async function answerTo(work: Promise<unknown>): Promise<unknown> {
  const thrown = await work.catch((error: unknown) => error)
  if (thrown instanceof Refusal) return thrown.code
  return thrown instanceof InvalidInput ? thrown.field : thrown
}

const shown = (value: unknown): string => (JSON.stringify(value) ?? String(value)).slice(0, 60)

describe('the use cases of a program without a compiler', () => {
  for (const [name, { call, input, answers = {} }] of Object.entries(useCases)) {
    it(`refuse wrong input and write nothing: ${name}`, async () => {
      const site = await scene()
      const right = input(site)
      for (const field of Object.keys(right).filter((one) => one === 'by' || one in wrongValues)) {
        const isChange = name.startsWith('change') && field !== 'requestId'
        for (const value of field === 'by' ? impostors(site) : (wrongValues[field] ?? [])) {
          if (isChange && !['by', 'target'].includes(field) && (value === null || value === undefined)) continue
          const outcome = await answerTo(call(site.accounts, { ...right, [field]: value } as never)) // safe: as above
          expect(outcome, `${field} ${shown(value)}`).to.equal(answers[field] ?? answerOf(field))
          expect(site.writes).to.deep.equal([])
        }
      }
    })

    it(`pass on right input: ${name}`, async () => {
      const site = await scene()
      const right = input(site)
      const outcome = await answerTo(call(site.accounts, right as never)) // safe: as above
      expect(outcome).to.not.be.instanceOf(Error)
      expect(outcome).to.not.be.oneOf(['UNAUTHORIZED', ...Object.keys(right)])
    })
  }

  it('refuse passwords that nobody may have, and unknown tokens', async () => {
    const { accounts, by, writes } = await scene()
    for (const wrong of ['', 'x'.repeat(1025)]) {
      const registering = accounts.registerUser.execute({ email, password: wrong, requestId })
      expect(await answerTo(registering)).to.equal('REGISTER_INVALID_PASSWORD')
      const changing = accounts.changeOwnAccount.execute({ by, changes: { password: wrong }, requestId })
      expect(await answerTo(changing)).to.equal('UPDATE_USER_INVALID_PASSWORD')
    }
    for (const token of ['', 'a', 'x'.repeat(100_000)]) {
      const resetting = accounts.resetPassword.execute({ token, password, requestId })
      expect(await answerTo(resetting)).to.equal('RESET_PASSWORD_BAD_TOKEN')
      expect(await answerTo(accounts.verifyUser.execute({ token, by, requestId }))).to.equal('VERIFY_USER_BAD_TOKEN')
    }
    expect(writes).to.deep.equal([])
  })

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
    await accounts.changeOwnAccount.execute({ by, changes, requestId })
    const { passwordHash } = by.user
    const rights = { isSuperuser: false, isVerified: false, isActive: true }
    expect(await users.find(by.user.id)).to.deep.include({ email, passwordHash, ...rights })
  })

  it('register nobody with more than an address and a password', async () => {
    const { accounts, users, outbox } = await scene()
    const more = {
      isSuperuser: true,
      isVerified: true,
      id: newId(),
      version: 7,
      oauthAccounts: [{}],
      by: { type: 'nobody' } as const,
    }
    const { id } = await accounts.registerUser.execute({ email, password, requestId, ...more })
    const stored = { isSuperuser: false, isVerified: false, oauthAccounts: [], version: 1 }
    expect(await users.find(id)).to.deep.include(stored)
    expect(id).to.not.equal(more.id)
    await accounts.createSuperuser.execute({ email: other, password, requestId, ...more })
    const { items } = await outbox.list('waiting', 2, null)
    expect(items.map(({ event }) => event.by)).to.deep.equal([{ type: 'program' }, { type: 'program' }])
  })

  it('take null in a field of changes as not given', async () => {
    const { accounts, by, plain: target, writes } = await scene()
    const changes = { email: null, password: null, isActive: null, isSuperuser: null, isVerified: null }
    await accounts.changeAccount.execute({ by, target, changes: changes as never, requestId }) // safe: as above
    expect(writes).to.deep.equal([])
  })

  it('compile no check again for another tenant', async () => {
    const callAll = async (): Promise<void> => {
      const site = await scene()
      for (const { call, input } of Object.values(useCases)) await answerTo(call(site.accounts, input(site) as never)) // safe: as above
    }
    await callAll()
    const session = new Session()
    session.connect()
    session.post('Debugger.enable')
    let compiled = 0
    session.on('Debugger.scriptParsed', ({ params: { url } }) => {
      if (url === '') compiled++ // code that no file has
    })
    await callAll()
    session.disconnect()
    expect(compiled).to.equal(0)
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
