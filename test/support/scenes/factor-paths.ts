import { randomUUID } from 'node:crypto'
import type { AddedFactor } from '../../../src/application/factors/added-factor.ts'
import { mustAskFactor } from '../../../src/application/factors/level.ts'
import { issueToken } from '../../../src/application/one-time-tokens/issue-token.ts'
import { findRedeemable } from '../../../src/application/one-time-tokens/redeem-token.ts'
import type { OAuthProvider } from '../../../src/application/ports/oauth-provider.ts'
import type { PasskeyResponse } from '../../../src/application/ports/passkey-verifier.ts'
import type { Authenticated, Backend } from '../../../src/application/sign-in/authenticate.ts'
import type { LoginResult } from '../../../src/application/sign-in/complete-login.ts'
import { type Email, emailKey } from '../../../src/domain/email.ts'
import { levelOf } from '../../../src/domain/factors.ts'
import type { UserId } from '../../../src/domain/ids.ts'
import { factOf, isWanted, type RequestPurpose } from '../../../src/domain/one-time-token.ts'
import { Refusal } from '../../../src/domain/refusal.ts'
import type { User } from '../../../src/domain/user.ts'
import { Authenticator } from './authenticator.ts'
import type { FactorSite } from './factor-site.ts'
import { codeOf } from './factors.ts'

/** The means that an attacker has at the start. */
export interface Powers {
  readonly password: boolean
  /** Reads the mail to the first address of the account. */
  readonly mailbox: boolean
  /** A login from before the factor. */
  readonly session: boolean
  /** An account at a provider that is linked to the account. */
  readonly provider: boolean
}

type Role = 'victim' | 'attacker'

interface Held {
  readonly by: Role
  readonly backend: Backend
  readonly value: string
  readonly level: 1 | 2
  readonly provedAt: number
}

interface Link {
  readonly purpose: RequestPurpose
  readonly token: string
}

interface Challenge {
  readonly by: Role
  readonly backend: Backend
  readonly text: string
  readonly openedAt: number
  readonly generation: number
  readonly passwordVersion: number
}

/** Recovery codes that a person has, and the key of their set. */
interface Codes {
  readonly key: string | undefined
  readonly left: string[]
}

const recentSeconds = 900

const factorsOf = ({ factors: { totp, passkeys } }: User): readonly string[] => [
  ...(totp === null ? [] : [totp.sealedSecret]),
  ...passkeys.map(({ id }) => id),
]

let paths = 0

/** One account, its owner, and an attacker. Everybody uses the use cases as the routes do. */
export class FactorWorld {
  readonly #site: FactorSite
  readonly #powers: Powers
  readonly #names: readonly string[]
  readonly #requestId = randomUUID()
  #id = '' as UserId
  #password = ''
  readonly #known: Record<Role, string> = { victim: 'the password of the owner', attacker: '' }
  readonly #secrets: Record<Role, string> = { victim: '', attacker: '' }
  readonly #codes: Record<Role, Codes> = { victim: { key: '', left: [] }, attacker: { key: '', left: [] } }
  readonly #authenticators: Record<Role, Authenticator | null> = { victim: null, attacker: null }
  #held: Held[] = []
  readonly #links: Link[] = []
  #challenges: Challenge[] = []
  #setup: { readonly by: Role; readonly secret: string; readonly setup: string; readonly at: number } | null = null
  /** Whether the act may end a factor, and whether it may add one to others. */
  #mayRemove = false
  #mayAdd = false
  /** Whether the owner asks for no more codes in this browser. */
  #trusts = false
  /** The device token of the owner's browser. */
  #device: string | null = null

  private constructor(site: FactorSite, powers: Powers) {
    this.#site = site
    this.#powers = powers
    paths += 1
    this.#names = [`owner-${paths}@example.com`, `moved-${paths}@example.com`, `attacker-${paths}@example.com`]
  }

  static async start(site: FactorSite, powers: Powers): Promise<FactorWorld> {
    const world = new FactorWorld(site, powers)
    await world.#begin()
    return world
  }

  async #begin(): Promise<void> {
    const { registerUser, changeUser } = this.#site
    const password = this.#known.victim
    const { id } = await registerUser.execute({ email: this.#name(0), password, requestId: this.#requestId })
    this.#id = id
    this.#password = password
    const verified = { isVerified: true, isOwnerProved: true }
    await changeUser.execute(id, (fresh) => ({ type: 'replace', user: { ...fresh, ...verified }, events: [] }))
    if (this.#powers.password || this.#powers.session) this.#known.attacker = password
    if (this.#powers.provider) {
      await this.#logIn('attacker')
      await this.act('attacker links')
    } else if (this.#powers.session) await this.#logIn('attacker')
    if (!this.#powers.session) this.#held = []
    if (!this.#powers.password) this.#known.attacker = ''
  }

  /** The acts of both and of the operator. An act that nobody can try now is no step. */
  static readonly acts: readonly string[] = [
    'victim logs in',
    'victim adds an app',
    'victim removes the app',
    'victim adds a passkey',
    'victim signs in by the passkey',
    'victim removes the passkey',
    'victim renews the codes',
    'victim uses a recovery code',
    'victim changes the address',
    'victim signs out everywhere',
    'operator disables',
    'operator enables',
    'operator removes the factor',
    'operator starts a reset',
    'victim keeps the factor',
    'victim keeps the factor by the link',
    'attacker keeps the factor',
    'a day passes',
    'victim trusts the browser',
    'superuser changes the password',
    'time passes',
    'attacker logs in',
    'attacker signs in at the provider',
    'attacker asks for a reset',
    'attacker uses the reset',
    'attacker asks for a verification',
    'attacker verifies',
    'attacker changes the address',
    'attacker changes the password',
    'attacker links',
    'attacker begins an app',
    'attacker confirms the app',
    'attacker removes the app',
    'attacker adds a passkey',
    'attacker signs in by the passkey',
    'attacker removes the passkeys',
    'attacker renews the codes',
    'attacker answers a challenge',
    'attacker deletes the account',
  ]

  /** Whether the act was tried. A refusal is a normal result. */
  async act(name: string): Promise<boolean> {
    const before = await this.#user()
    this.#mayRemove = false
    this.#mayAdd = false
    let isTried: boolean
    try {
      isTried = await this.#do(name)
    } catch (thrown) {
      if (!(thrown instanceof Refusal)) throw thrown
      isTried = true
    }
    if (isTried) await this.#check(name, before)
    return isTried
  }

  async #do(name: string): Promise<boolean> {
    const by: Role = name.startsWith('victim') ? 'victim' : 'attacker'
    const site = this.#site
    const requestId = this.#requestId
    const target = await this.#user()
    if (target === null) return false
    switch (name) {
      case 'victim logs in':
      case 'attacker logs in':
        return await this.#logIn(by)
      case 'attacker signs in at the provider':
        return this.#powers.provider && (await this.#signIn(by))
      case 'victim adds an app':
        return (await this.#beginApp(by)) && (await this.#confirm(by))
      case 'attacker begins an app':
        return await this.#beginApp(by)
      case 'attacker confirms the app':
        return await this.#confirm(by)
      case 'victim removes the app':
      case 'attacker removes the app':
        return await this.#withLogins(by, async (login) => {
          this.#mayRemove = levelOf(login.credential) === 2
          await site.removeFactors.execute({ by: login, target: login.user, which: 'totp', requestId })
        })
      case 'victim adds a passkey':
      case 'attacker adds a passkey':
        return await this.#withLogins(by, (login) => this.#addPasskey(by, login))
      case 'victim signs in by the passkey':
      case 'attacker signs in by the passkey':
        return await this.#signInByPasskey(by)
      case 'victim removes the passkey':
      case 'attacker removes the passkeys': {
        const own = this.#authenticators.victim?.id
        const removed = target.factors.passkeys.map(({ id }) => id).filter((id) => by === 'attacker' || id === own)
        if (removed.length === 0) return false
        return await this.#withLogins(by, async (login) => {
          this.#mayRemove = levelOf(login.credential) === 2
          for (const id of removed) await site.changePasskey.execute({ by: login, id, name: null, requestId })
        })
      }
      case 'victim renews the codes':
      case 'attacker renews the codes':
        return await this.#withLogins(by, async (login) => {
          await this.#renewCodes(by, await site.renewRecoveryCodes.execute({ by: login, requestId }))
          if (levelOf(login.credential) < 2) throw new Error('codes were renewed without the factor')
        })
      case 'victim uses a recovery code':
        return await this.#answer(by, 'recovery_code')
      case 'attacker answers a challenge':
        return (await this.#answer(by, 'totp')) || (await this.#answer(by, 'recovery_code'))
      case 'victim changes the address':
      case 'attacker changes the address': {
        const email = this.#name(by === 'victim' ? 1 : 2)
        return await this.#withLogins(by, async (login) => {
          await site.changeOwnAccount.execute({ by: login, changes: { email }, requestId })
        })
      }
      case 'attacker changes the password': {
        const password = 'the password of the attacker'
        return await this.#withLogins(by, async (login) => {
          await site.changeOwnAccount.execute({ by: login, changes: { password }, requestId })
          this.#known.attacker = password
          this.#password = password
        })
      }
      case 'victim signs out everywhere':
        return await this.#withLogins(by, async (login) => {
          await site.logOutEverywhere.execute({ by: login, target: login.user, requestId })
        })
      case 'operator disables':
      case 'operator enables': {
        const isActive = name === 'operator enables'
        if (target.isActive === isActive) return false
        await site.changeAccount.execute({ by: { type: 'command' }, target, changes: { isActive }, requestId })
        return true
      }
      case 'superuser changes the password':
        this.#password = 'a password of the superuser'
        this.#known.victim = this.#password
        await site.changeAccount.execute({
          by: { type: 'program' },
          target,
          changes: { password: this.#password },
          requestId,
        })
        return true
      case 'operator removes the factor':
        this.#mayRemove = true
        await site.removeFactors.execute({ by: { type: 'command' }, target, which: 'all', requestId })
        return true
      case 'operator starts a reset':
        await site.resetFactors.execute({ by: { type: 'command' }, target, requestId })
        return true
      case 'victim keeps the factor':
      case 'attacker keeps the factor':
        return await this.#withLogins(by, async (login) => {
          await site.keepFactors.execute({ by: login, target: login.user, requestId })
          if (levelOf(login.credential) < 2) throw new Error('a weak login has stopped a reset')
        })
      case 'victim keeps the factor by the link': {
        const { resetAt } = target.factors
        if (resetAt === null) return false
        const fact = { email: emailKey(target.email), resetAt }
        const issue = {
          purpose: 'keep_factors',
          user: target,
          fact,
          eventId: site.ports.newId(),
          isRepeated: false,
        } as const
        const { token } = await issueToken(site.ports, issue)
        await site.redeemKeepFactors.execute({ token, requestId })
        return true
      }
      case 'a day passes':
        this.#mayRemove = target.factors.resetAt !== null
        site.clock.advance(86_401)
        return true
      case 'victim trusts the browser':
        this.#trusts = true
        try {
          return await this.#logIn(by)
        } finally {
          this.#trusts = false
        }
      case 'time passes':
        site.clock.advance(recentSeconds + 1)
        return true
      case 'attacker asks for a reset':
        return await this.#ask('reset_password', target)
      case 'attacker asks for a verification':
        return await this.#ask('verify_email', target)
      case 'attacker uses the reset':
        return await this.#withLink('reset_password', async (token) => {
          const password = 'the password of the attacker'
          await site.resetPassword.execute({ token, password, requestId })
          this.#known.attacker = password
          this.#password = password
        })
      case 'attacker verifies':
        return await this.#withLink('verify_email', async (token) => {
          await site.verifyUser.execute({ token, requestId })
        })
      case 'attacker links':
        return await this.#withLogins(by, (login) => this.#link(login))
      case 'attacker deletes the account':
        return await this.#withLogins(by, async (login) => {
          await site.deleteUser.execute({ by: login, target: login.user, requestId })
        })
      default:
        throw new RangeError(`no such act: ${name}`)
    }
  }

  async hasFactor(): Promise<boolean> {
    const user = await this.#user()
    return user !== null && factorsOf(user).length > 0
  }

  #name(at: number): Email {
    return this.#names[at] as Email // safe: each is an address
  }

  async #user(): Promise<User | null> {
    return await this.#site.ports.users.find(this.#id)
  }

  async #logIn(by: Role): Promise<boolean> {
    const password = this.#known[by]
    if (password === '') return false
    for (const backend of this.#site.backends) {
      const { email } = (await this.#user()) ?? { email: this.#name(0) }
      const caller = { client: null, device: by === 'victim' ? this.#device : null }
      const result = await this.#site.logIn.execute({ email, password, backend, caller, requestId: this.#requestId })
      await this.#take(by, backend, result)
    }
    return true
  }

  async #signIn(by: Role): Promise<boolean> {
    const { startOAuth, finishOAuth } = this.#site
    const provider = this.#provider()
    const policy = {
      associateByEmail: true,
      verifiedByDefault: true,
      requiresVerification: false,
      trustsSecondFactor: false,
    }
    for (const backend of this.#site.backends) {
      const start = { provider, by: null, scopes: null, redirectUri: 'http://localhost/callback', returnTo: null }
      const { state, sealedJourney } = await startOAuth.execute(start)
      const arrival = { provider, journeyOf: () => sealedJourney, recognised: () => undefined }
      const response = { code: 'any', state, error: null, iss: null }
      const result = await finishOAuth.execute({ response, arrival, policy, backend, requestId: this.#requestId })
      await this.#take(by, backend, result)
    }
    return true
  }

  async #link(by: Authenticated): Promise<void> {
    const provider = this.#provider()
    const start = { provider, by, scopes: null, redirectUri: 'http://localhost/callback', returnTo: null }
    const { state, sealedJourney } = await this.#site.startOAuth.execute(start)
    const arrival = { provider, journeyOf: () => sealedJourney, recognised: () => undefined }
    const response = { code: 'any', state, error: null, iss: null }
    await this.#site.linkOAuth.execute({ response, arrival, by, requestId: this.#requestId })
  }

  #provider(): OAuthProvider {
    const tokens = { accessToken: 'token', refreshToken: null, expiresAt: null }
    const identity = { accountId: this.#name(2), email: this.#name(2), isEmailVerified: true, tokens }
    return {
      name: 'acme',
      scopes: [],
      authorizationUrl: async () => 'https://acme.example/',
      identify: async () => identity,
      refresh: async () => tokens,
    }
  }

  /** Keeps what a way to log in gives: a credential or a challenge. */
  async #take(by: Role, backend: Backend, result: LoginResult): Promise<void> {
    if (result.type === 'second_factor') {
      const { sessions, passwordVersion } = (await this.#user()) ?? { sessions: { generation: 0 }, passwordVersion: 0 }
      const at = { openedAt: this.#site.clock().getTime(), generation: sessions.generation, passwordVersion }
      this.#challenges.push({ by, backend, text: result.challenge, ...at })
      if (by === 'victim') await this.#answer(by, 'totp')
      return
    }
    if (by === 'victim') this.#device = result.device ?? this.#device
    const { value, credential } = result.issued
    const { provedAt } = credential
    const level = levelOf(credential)
    const user = await this.#user()
    const isOfUser = user !== null && credential.userId === user.id
    if (isOfUser && by === 'attacker' && mustAskFactor(user, credential))
      throw new Error('a credential was given without the factor')
    if (isOfUser) this.#held.push({ by, backend, value, level, provedAt: provedAt.getTime() })
  }

  async #answer(by: Role, method: 'totp' | 'recovery_code'): Promise<boolean> {
    const challenge = this.#challenges.findLast((one) => one.by === by)
    const secret = this.#secrets[by]
    const code = method === 'totp' ? secret && this.#nextCode(secret) : this.#codes[by].left.pop()
    if (challenge === undefined || !code) return false
    const { backend, text } = challenge
    const proof = {
      challenge: text,
      proof: { method, code },
      backend,
      trustsBrowser: this.#trusts,
      requestId: this.#requestId,
    }
    const result = await this.#site.finishLogin.execute(proof)
    this.#challenges = this.#challenges.filter((one) => one !== challenge)
    await this.#take(by, backend, result)
    return true
  }

  /** A code that was not used, because each code works once. */
  #nextCode(secret: string): string {
    this.#site.clock.advance(30)
    return codeOf(secret, this.#site.clock())
  }

  async #beginApp(by: Role): Promise<boolean> {
    return await this.#withLogins(by, async (login) => {
      const { secret, setup } = await this.#site.beginTotp.execute({ by: login })
      this.#setup = { by, secret, setup, at: this.#site.clock().getTime() }
    })
  }

  async #confirm(by: Role): Promise<boolean> {
    const begun = this.#setup
    if (begun?.by !== by) return false
    const { secret, setup } = begun
    return await this.#withLogins(by, async (login) => {
      const proof = { setup, code: this.#nextCode(secret), requestId: this.#requestId }
      await this.#keepAdded(by, login, await this.#site.confirmTotp.execute({ by: login, ...proof }))
      this.#secrets[by] = secret
      this.#secrets[by === 'victim' ? 'attacker' : 'victim'] = ''
    })
  }

  async #addPasskey(by: Role, login: Authenticated): Promise<void> {
    const { challenge, rpId, handle } = await this.#site.beginPasskey.execute({ by: login, client: null })
    const authenticator = new Authenticator('http://localhost')
    const created = authenticator.create({ challenge, rp: { id: rpId }, user: { id: handle } })
    const response = created as PasskeyResponse // safe: it is what browsers send
    const added = { by: login, response, name: by, requestId: this.#requestId }
    await this.#keepAdded(by, login, await this.#site.addPasskey.execute(added))
    this.#authenticators[by] = authenticator
  }

  async #signInByPasskey(by: Role): Promise<boolean> {
    const authenticator = this.#authenticators[by]
    if (authenticator === null) return false
    for (const backend of this.#site.backends) {
      const options = this.#site.beginPasskeyLogin.execute({ browser: null })
      const response = authenticator.get(options) as PasskeyResponse // safe: it is what browsers send
      const answer = { response, backend, requestId: this.#requestId }
      await this.#take(by, backend, await this.#site.logInByPasskey.execute(answer))
    }
    return true
  }

  /** After a login has added a factor. The first one brings codes, and a new credential of the same login. */
  async #keepAdded(by: Role, login: Authenticated, { recoveryCodes, issued }: AddedFactor): Promise<void> {
    const { backend, credential } = login
    this.#mayAdd = levelOf(credential) === 2
    if (issued === null) return
    const { value } = issued
    const { sid, provedAt } = issued.credential
    if (sid !== credential.sid || levelOf(issued.credential) < 2) throw new Error('the login has not risen')
    this.#held.push({ by, backend, value, level: 2, provedAt: provedAt.getTime() })
    await this.#renewCodes(by, recoveryCodes)
  }

  async #renewCodes(by: Role, codes: readonly string[]): Promise<void> {
    this.#codes[by] = { key: (await this.#user())?.factors.recovery?.sealedKey, left: [...codes] }
  }

  /** Tries the act with each login of this person until one succeeds. */
  async #withLogins(by: Role, act: (login: Authenticated) => Promise<void>): Promise<boolean> {
    const own = this.#held.filter((one) => one.by === by).toReversed()
    let refusal: unknown = null
    for (const one of own) {
      const login = await this.#site.authenticate.execute([one])
      if (login === null) continue
      try {
        await act(login)
        return true
      } catch (thrown) {
        refusal = thrown
      }
    }
    if (refusal !== null) throw refusal
    return false
  }

  /** The mail arrives at the present address of the account. */
  async #ask(purpose: RequestPurpose, user: User): Promise<boolean> {
    const isRead = (this.#powers.mailbox && user.email === this.#name(0)) || user.email === this.#name(2)
    if (!isRead || !isWanted(purpose, user)) return false
    const { ports } = this.#site
    const issue = { purpose, user, fact: factOf(purpose, user), eventId: ports.newId(), isRepeated: false }
    this.#links.push({ purpose, token: (await issueToken(ports, issue)).token })
    return true
  }

  async #withLink(purpose: RequestPurpose, act: (token: string) => Promise<void>): Promise<boolean> {
    const link = this.#links.findLast((one) => one.purpose === purpose)
    if (link === undefined) return false
    await act(link.token)
    return true
  }

  /** Throws if an act has lowered the level of the account. */
  async #check(act: string, before: User | null): Promise<void> {
    const user = await this.#user()
    if (user === null || before === null) return
    const [former, present] = [factorsOf(before), factorsOf(user)]
    if (former.some((one) => !present.includes(one)) && !this.#mayRemove) throw new Error('the factor is gone')
    const isAdded = former.length > 0 && present.some((one) => !former.includes(one))
    if (isAdded && !this.#mayAdd) throw new Error('another factor is there')
    if (present.length === 0) return
    for (const one of this.#held) {
      const isWeak = one.level === 1 && (one.by === 'attacker' || former.length === 0)
      if (isWeak && (await this.#site.authenticate.execute([one])))
        throw new Error(`after "${act}" a login of level 1 is valid`)
    }
  }

  /** A text that two worlds share if the same acts are possible in them. */
  async state(): Promise<string> {
    const user = await this.#user()
    if (user === null) return 'deleted'
    const { clock, ports, authenticate } = this.#site
    const now = clock().getTime()
    const age = (at: number) => (now - at < recentSeconds * 1000 ? 'recent' : 'old')
    const held: string[] = []
    for (const one of this.#held) {
      const isValid = (await authenticate.execute([one])) !== null
      if (isValid) held.push([one.by, one.backend.name, one.level, age(one.provedAt)].join())
    }
    const links: string[] = []
    for (const { purpose, token } of this.#links) {
      if ((await findRedeemable(ports, purpose, token)) !== null) links.push(purpose)
    }
    const challenges = this.#challenges.filter(({ openedAt, generation, passwordVersion }) => {
      const stands = user.sessions.generation === generation && user.passwordVersion === passwordVersion
      return stands && now - openedAt < 300_000
    })
    const { totp, passkeys, recovery } = user.factors
    return JSON.stringify([
      [user.isActive, user.isVerified, user.isOwnerProved, this.#names.indexOf(user.email), user.oauthAccounts.length],
      [totp !== null, recovery?.digests.length === 10, this.#secrets.victim !== ''],
      Object.values(this.#authenticators).map((one) => passkeys.some(({ id }) => id === one?.id)),
      Math.min(passkeys.length, 3),
      user.factors.resetAt !== null,
      this.#device !== null && (await ports.trustedBrowsers.isTrusted(user, this.#device)),
      Object.values(this.#known).map((one) => one === this.#password),
      Object.values(this.#codes).map(({ key, left }) => key === recovery?.sealedKey && left.length > 0),
      this.#setup && [this.#setup.by, age(this.#setup.at)],
      [...new Set(held)].sort(),
      [...new Set(links)].sort(),
      [...new Set(challenges.map(({ by, backend }) => `${by} ${backend.name}`))].sort(),
    ])
  }
}
