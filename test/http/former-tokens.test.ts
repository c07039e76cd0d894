import argon2 from 'argon2'
import { expect } from 'chai'
import jsonwebtoken from 'jsonwebtoken'
import { newId } from '../../src/adapters/crypto/new-id.ts'
import type { Email } from '../../src/domain/email.ts'
import { newUser, type User } from '../../src/domain/user.ts'
import { openStore } from '../../src/index.ts'
import { eventually } from '../support/eventually.ts'
import { anAddress, refused, seen, unauthorized } from '../support/http/answers.ts'
import { call, goodPassword, logIn, register } from '../support/http/client.ts'
import { counted, scrape, withMetrics } from '../support/services/metrics.ts'
import { startTestService, type TestService } from '../support/services/service.ts'
import { scratchFolder } from '../support/services/spawned-service.ts'

const secret = 'SECRET of the app'
const resetSecret = 'reset secret of the app'
const verificationSecret = 'verification secret of the app'
const today = () => new Date().toISOString().slice(0, 10)
const settings = {
  PORTCULLIS_IDS: 'uuid', // as the stored users
  PORTCULLIS_COMPAT__UNTIL: today(),
  PORTCULLIS_COMPAT__JWT_SECRET: secret,
  PORTCULLIS_COMPAT__RESET_SECRET: resetSecret,
  PORTCULLIS_COMPAT__VERIFICATION_SECRET: verificationSecret,
  PORTCULLIS_USERS__SELF_DELETION: 'true',
}

const hour = 3600
const signed = (claims: object, key: string, options: jsonwebtoken.SignOptions = { expiresIn: hour }) =>
  jsonwebtoken.sign(claims, key, { noTimestamp: true, ...options })

/** The tokens of fastapi-users 15 (fastapi_users/authentication/strategy/jwt.py, manager.py). */
const jwtOf = (user: { readonly id: string }) => signed({ sub: user.id, aud: ['fastapi-users:auth'] }, secret)
const verificationOf = ({ id, email }: User) =>
  signed({ sub: id, email, aud: 'fastapi-users:verify' }, verificationSecret)
const resetOf = async ({ id, passwordHash }: User) => {
  const fingerprint = await argon2.hash(passwordHash ?? '')
  return signed({ sub: id, password_fgpt: fingerprint, aud: 'fastapi-users:reset' }, resetSecret)
}

describe('tokens of fastapi-users', () => {
  let service: TestService
  let imported: User
  let other: User
  let third: User
  const dataFolder = scratchFolder()

  async function anImported(fields: Partial<User> = {}): Promise<User> {
    const hash = await argon2.hash(goodPassword, { memoryCost: 19_456, timeCost: 2, parallelism: 1 })
    const user = newUser(newId(), anAddress() as Email, hash, new Date())
    const { generation } = user.sessions
    return { ...user, imported: { generation, hashText: hash, digest: 'a digest', version: 1 }, ...fields }
  }

  before(async () => {
    const store = await openStore({ kind: 'sqlite', dataFolder })
    imported = await anImported()
    other = await anImported()
    third = await anImported()
    for (const user of [imported, other, third]) expect(await store.users.insert(user, [])).to.equal('stored')
    await store.close()
    service = await startTestService({ ...settings, ...withMetrics }, { dataFolder })
  })
  after(() => service?.stop())

  const me = (bearer: string) => call(service.url, 'GET', '/users/me', { bearer })
  const post = (path: string, json: object) => call(service.url, 'POST', `/auth/${path}`, { json })

  it('are logins of imported users, until each is logged out', async () => {
    const [one, two] = [
      jwtOf(imported),
      signed({ sub: imported.id, aud: 'fastapi-users:auth' }, secret, { expiresIn: 2 * hour }),
    ]
    for (const bearer of [one, two])
      expect((await me(bearer)).body).to.include({ id: imported.id, email: imported.email })
    expect((await call(service.url, 'POST', '/auth/jwt/logout', { bearer: one })).status).to.equal(204)
    expect(seen(await me(one))).to.deep.equal(unauthorized)
    expect((await me(two)).status).to.equal(200)
  })

  it('are counted', async () => {
    const series = 'portcullis_former_tokens_total{kind="jwt"}'
    const before = (await scrape(service.logLines)).get(series) ?? 0
    await me(jwtOf(imported))
    await counted(service.logLines, series, before + 1)
  })

  it('end with a change of the password, the one that changes it, too', async () => {
    const [bearer, second] = [jwtOf(third), jwtOf(third)]
    const json = { password: 'quite another pass phrase' }
    expect((await call(service.url, 'PATCH', '/users/me', { bearer, json })).status).to.equal(200)
    for (const one of [bearer, second]) expect(seen(await me(one))).to.deep.equal(unauthorized)
    const answer = await post('verify', { token: verificationOf(third) })
    expect(seen(answer)).to.deep.equal(refused(400, 'VERIFY_USER_BAD_TOKEN'))
  })

  it('are refused for users who were created here', async () => {
    const user = await register(service.url, anAddress())
    expect(seen(await me(jwtOf(user)))).to.deep.equal(unauthorized)
  })

  it('are no fresh logins', async () => {
    const answer = await call(service.url, 'DELETE', '/users/me', { bearer: jwtOf(other) })
    expect(seen(answer)).to.deep.equal(refused(403, 'FRESH_LOGIN_REQUIRED'))
  })

  const signedWith = (header: object) =>
    signed({ sub: imported.id, aud: ['fastapi-users:auth'] }, secret, {
      expiresIn: hour,
      header: { alg: 'HS256', ...header },
    })
  const wrong: readonly (readonly [string, () => string])[] = [
    ['of nobody', () => jwtOf({ id: newId() })],
    ['without an end', () => signed({ sub: imported.id, aud: ['fastapi-users:auth'] }, secret, {})],
    ['that has ended', () => signed({ sub: imported.id, aud: ['fastapi-users:auth'] }, secret, { expiresIn: -1 })],
    ['for another audience', () => signed({ sub: imported.id, aud: 'fastapi-users:verify' }, secret)],
    ['without an audience', () => signed({ sub: imported.id }, secret)],
    ['of another secret', () => signed({ sub: imported.id, aud: ['fastapi-users:auth'] }, resetSecret)],
    ['of another type', () => signedWith({ typ: 'dpop+jwt' })],
    ['with critical extensions', () => signedWith({ crit: ['b64'] })],
    ['of a verification', () => verificationOf({ ...imported })],
    [
      'of another algorithm',
      () => signed({ sub: imported.id, aud: ['fastapi-users:auth'] }, secret, { algorithm: 'HS512', expiresIn: hour }),
    ],
    [
      'without a signature',
      () => {
        const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
        const exp = Math.floor(Date.now() / 1000) + hour
        return `${part({ alg: 'none', typ: 'JWT' })}.${part({ sub: imported.id, aud: ['fastapi-users:auth'], exp })}.`
      },
    ],
  ]
  for (const [what, make] of wrong) {
    it(`are refused: one ${what}`, async () => expect(seen(await me(make()))).to.deep.equal(unauthorized))
  }

  it('verify an address once', async () => {
    const token = verificationOf(imported)
    const answers = await Promise.all(Array.from({ length: 5 }, () => post('verify', { token })))
    const [answer, ...others] = answers.sort((one, other) => one.status - other.status)
    expect(answer?.body).to.include({ id: imported.id, is_verified: true })
    expect(others.map(({ status }) => status)).to.deep.equal([400, 400, 400, 400])
    expect(seen(await post('verify', { token }))).to.deep.equal(refused(400, 'VERIFY_USER_ALREADY_VERIFIED'))
  })

  it('do not verify another address', async () => {
    const token = verificationOf({ ...other, email: imported.email })
    expect(seen(await post('verify', { token }))).to.deep.equal(refused(400, 'VERIFY_USER_BAD_TOKEN'))
    const reset = await resetOf(other)
    expect(seen(await post('verify', { token: reset }))).to.deep.equal(refused(400, 'VERIFY_USER_BAD_TOKEN'))
  })

  it('reset a password once, and then no token of the app counts', async () => {
    const [login, token, second] = [jwtOf(imported), await resetOf(imported), await resetOf(imported)]
    const foreign = await resetOf({ ...imported, passwordHash: other.passwordHash })
    const bad = refused(400, 'RESET_PASSWORD_BAD_TOKEN')
    const password = 'another quite long pass phrase'
    expect(seen(await post('reset-password', { token: foreign, password }))).to.deep.equal(bad)
    // A login replaces no hash that a link is bound to.
    await logIn(service.url, imported.email)
    const answers = await Promise.all([token, second].map((one) => post('reset-password', { token: one, password })))
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, 400])
    for (const one of [token, second]) {
      expect(seen(await post('reset-password', { token: one, password }))).to.deep.equal(bad)
    }
    expect(seen(await me(login))).to.deep.equal(unauthorized)
    expect(seen(await me(jwtOf(imported)))).to.deep.equal(unauthorized)
    expect((await logIn(service.url, imported.email, password)).length).to.be.above(0)
  })

  it('are refused after the date', async () => {
    const tomorrow = new Date(Date.now() + 24 * hour * 1000)
    const later = await startTestService(settings, { dataFolder, clock: () => tomorrow })
    const login = signed({ sub: other.id, aud: ['fastapi-users:auth'] }, secret, { expiresIn: 48 * hour })
    const reset = await resetOf(other)
    try {
      expect((await me(login)).status).to.equal(200)
      expect(seen(await call(later.url, 'GET', '/users/me', { bearer: login }))).to.deep.equal(unauthorized)
      const json = { token: reset, password: goodPassword }
      const answer = await call(later.url, 'POST', '/auth/reset-password', { json })
      expect(seen(answer)).to.deep.equal(refused(400, 'RESET_PASSWORD_BAD_TOKEN'))
      // Nothing is compared with the former hashes any more.
      await eventually('the former hashes to be removed', async () =>
        (await formerHashes()).every((one) => one === null),
      )
    } finally {
      await later.stop()
    }
  })

  describe('without a date', () => {
    const dataFolder = scratchFolder()
    const { PORTCULLIS_COMPAT__UNTIL: _, ...undated } = settings
    const { PORTCULLIS_COMPAT__JWT_SECRET: _1, PORTCULLIS_COMPAT__RESET_SECRET: _2, ...others } = undated
    const { PORTCULLIS_COMPAT__VERIFICATION_SECRET: _3, ...secretless } = others
    const inDays = (days: number) => new Date(Date.now() + days * 24 * hour * 1000)
    const dayIn = (days: number) => inDays(days).toISOString().slice(0, 10)
    const login = () => signed({ sub: user.id, aud: ['fastapi-users:auth'] }, secret, { expiresIn: 60 * 24 * hour })
    let user: User

    async function startedIn(days: number, of: Readonly<Record<string, string>> = undated): Promise<TestService> {
      return await startTestService(of, { dataFolder, clock: () => inDays(days) })
    }

    it('go on for 30 days after the first start, in every process, and end then', async () => {
      const store = await openStore({ kind: 'sqlite', dataFolder })
      user = await anImported()
      await store.users.insert(user, [])
      await store.close()
      const statusAt = async ({ url }: TestService) => (await call(url, 'GET', '/users/me', { bearer: login() })).status
      await (await startedIn(-40, secretless)).stop() // a start without a secret is not the first one
      const services: TestService[] = []
      try {
        for (const days of [0, 30, 31]) services.push(await startedIn(days))
        expect(await Promise.all(services.map(statusAt))).to.deep.equal([200, 200, 401])
        const told = services.map(({ logLines }) => logLines.filter((line) => line.includes('of fastapi-users')).join())
        const goesOn = `logins and links of fastapi-users go on until ${dayIn(30)}`
        expect(told.map((text) => text.includes(goesOn))).to.deep.equal([true, true, false])
        expect(told[2]).to.contain(
          `have ended on ${dayIn(30)}: remove compat.jwtSecret, compat.resetSecret, compat.verificationSecret`,
        )
      } finally {
        for (const one of services) await one.stop()
      }
    })

    it('leave no former hash behind then, also when the secrets were removed before', async () => {
      const store = await openStore({ kind: 'sqlite', dataFolder })
      await store.users.insert(await anImported(), [])
      await store.close()
      const service = await startedIn(31, secretless)
      await eventually('the former hashes to be removed', async () =>
        (await formerHashes(dataFolder)).every((one) => one === null),
      )
      await service.stop()
    })
  })

  async function formerHashes(folder = dataFolder): Promise<readonly unknown[]> {
    const store = await openStore({ kind: 'sqlite', dataFolder: folder })
    const { items } = await store.users.list(100, null)
    await store.close()
    return items.flatMap((user) => user.imported ?? []).map(({ hashText }) => hashText)
  }
})
