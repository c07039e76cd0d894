// Secrets of users must not reach logs, errors or stores. A deleted user leaves no trace in a store, and no answer
// tells about the inside of the service (ASVS 13.4, 14.2, 16.2, 16.5).
import { join } from 'node:path'
import { expect } from 'chai'
import { eventually } from './support/eventually.ts'
import { type Answer, call, logIn, logInByCookie, type Sent } from './support/http/client.ts'
import { enrol } from './support/scenes/enrol.ts'
import {
  type Deployment,
  needsDeployment,
  onMongoAndRedis,
  onPostgres,
  onSqlite,
} from './support/services/deployments.ts'
import type { PrintedEvent } from './support/services/spawned-service.ts'
import { type SpawnedService, scratchFolder, spawnService } from './support/services/spawned-service.ts'
import {
  folderBytes,
  mongoContents,
  postgresContents,
  redisContents,
  sqliteContents,
} from './support/stores/store-contents.ts'

const superuserAddress = 'superuser@example.com'
const talkative = { PORTCULLIS_LOGS__LEVEL: 'debug', PORTCULLIS_LOGS__REQUESTS: 'all' }
/** Words that only an error of the service's inside contains. */
const inside = /\bat .*:\d+|node_modules|SQLITE_|mongo|E11000|redis|postgres|\.ts\b|\.js\b|SELECT|portcullis\./i

const passwords = {
  first: 'CANARY-pw-"first"+phrase',
  second: 'CANARY-pw-sécond&phrase',
  third: 'CANARY-pw-third/phrase',
  wrong: 'CANARY-pw-wrong=phrase',
}
const addresses = {
  ada: 'canary-ada+tag@example.com',
  moved: 'canary-moved@example.com',
  eve: 'canary-eve@example.com',
  stranger: 'canary-stranger@example.com',
}

/** The contents of a store: bytes for secrets that must never have been there, rows for the present records. */
interface Dump {
  readonly bytes: Buffer
  readonly rows: string
}

interface Case {
  readonly deployment: Deployment
  dump(settings: Readonly<Record<string, string>>, dataFolder: string): Promise<Dump>
}

const cases: readonly Case[] = [
  {
    deployment: onSqlite,
    dump: async (_settings, dataFolder) => ({
      bytes: folderBytes(dataFolder),
      rows: JSON.stringify(sqliteContents(dataFolder)),
    }),
  },
  {
    deployment: onMongoAndRedis,
    async dump(settings) {
      const mongo = await mongoContents(settings.PORTCULLIS_STORES__USERS__URL ?? '')
      const redis = await redisContents(settings.PORTCULLIS_STORES__SESSIONS__URL ?? '')
      const rows = JSON.stringify([mongo, redis])
      return { bytes: Buffer.from(rows), rows }
    },
  },
  {
    deployment: onPostgres,
    async dump(settings) {
      const rows = JSON.stringify(await postgresContents(settings.PORTCULLIS_STORES__USERS__URL ?? ''))
      return { bytes: Buffer.from(rows), rows }
    },
  },
]

for (const { deployment, dump } of cases) {
  describe(`secrets of users, on ${deployment.name}`, () => {
    let settings: Readonly<Record<string, string>>
    let service: SpawnedService
    let told: Story
    const dumps: Dump[] = []

    before(async function () {
      await needsDeployment(this, deployment)
      settings = await deployment.settings()
      const dataFolder = join(scratchFolder(), 'data')
      service = await spawnService({ ...settings, PORTCULLIS_DATA_FOLDER: dataFolder, ...talkative })
      await enrol(settings, dataFolder, [superuserAddress], { isSuperuser: true })
      told = await tell(service, async () => {
        const now = await dump(settings, dataFolder)
        dumps.push(now)
        return now
      })
    })

    after(async () => {
      await service?.end('SIGTERM')
      if (settings !== undefined) await deployment.remove(settings)
    })

    it('occur in no line of the log', () => {
      const log = service.errors.join('\n')
      expect(log).to.not.match(/canary/i)
      expect(service.errors.filter((line) => line.includes('"msg":"request"')).length).to.be.at.least(told.requests)
      expect(found([...told.secrets, ...Object.values(addresses)], Buffer.from(log))).to.deep.equal([])
    })

    it('occur on standard output only in the documented fields of events', () => {
      for (const event of service.events) {
        expect(Object.keys(event)).to.include.members(['event', 'user'])
        expect(Object.keys(event.user)).to.deep.equal(['id', 'email', 'is_active', 'is_superuser', 'is_verified'])
      }
      const text = JSON.stringify(service.events)
      expect(found([...Object.values(passwords), ...told.credentials], Buffer.from(text))).to.deep.equal([])
    })

    it('occur in no error, and errors reveal nothing about the service', () => {
      expect(told.errors.length).to.be.above(30)
      const text = told.errors.join('\n')
      expect(found([...told.secrets, ...Object.values(addresses)], Buffer.from(text))).to.deep.equal([])
      for (const error of told.errors)
        expect(error)
          .to.not.match(inside)
          .and.not.match(/canary/i)
    })

    it('are never stored in plain text', () => {
      expect(dumps.length).to.be.at.least(3)
      for (const { bytes } of dumps) expect(found(told.secrets, bytes)).to.deep.equal([])
    })

    it('are removed from the store with their user', () => {
      const [before, after] = [dumps[0]?.rows ?? '', dumps.at(-1)?.rows ?? '']
      expect(found([told.deleted, addresses.ada], Buffer.from(before))).to.not.deep.equal([])
      expect(found([told.deleted, addresses.ada, addresses.moved], Buffer.from(after))).to.deep.equal([])
    })
  })
}

interface Story {
  /** Passwords and tokens of every kind. */
  readonly secrets: readonly string[]
  readonly credentials: readonly string[]
  /** Bodies of all answers from 400 on. */
  readonly errors: readonly string[]
  readonly requests: number
  /** The id of the user who was deleted in the end. */
  readonly deleted: string
}

/** A life of an account on every route, each step with its failures; `pause` is called where a store is worth a look. */
async function tell(service: SpawnedService, pause: () => Promise<Dump>): Promise<Story> {
  const { url } = service
  const errors: string[] = []
  const credentials: string[] = []
  const tokens: string[] = []
  let requests = 0

  async function ask(expected: number, method: string, path: string, sent: Sent = {}): Promise<Answer> {
    requests++
    const answer = await call(url, method, path, sent)
    expect(answer.status, `${method} ${path}: ${answer.text}`).to.equal(expected)
    if (answer.status >= 400) errors.push(answer.text)
    return answer
  }
  const post = (expected: number, path: string, json: unknown, sent: Sent = {}) =>
    ask(expected, 'POST', path, { json, ...sent })
  const badLogin = (expected: number, form: Record<string, string>) =>
    ask(expected, 'POST', '/auth/jwt/login', { form })

  async function entered(email: string, password: string): Promise<{ bearer: string; cookie: string }> {
    requests += 2
    const bearer = await logIn(url, email, password)
    const cookie = await logInByCookie(url, email, password)
    credentials.push(bearer, cookie.slice(cookie.indexOf('=') + 1))
    return { bearer, cookie }
  }

  async function handed(event: string, email: string): Promise<string> {
    const isNew = (one: PrintedEvent): boolean =>
      one.event === event && one.user.email === email && one.token !== undefined && !tokens.includes(one.token)
    const { token = '' } = await eventually(event, () => service.events.find(isNew))
    tokens.push(token)
    return token
  }

  const { ada, moved, eve, stranger } = addresses
  const { first, second, third, wrong } = passwords

  // Registering
  const { id } = (await post(201, '/auth/register', { email: ada, password: first })).body as { id: string } // safe: a User
  await post(201, '/auth/register', { email: eve, password: first })
  await post(400, '/auth/register', { email: ada.toUpperCase(), password: wrong })
  await post(400, '/auth/register', { email: stranger, password: stranger })
  await post(400, '/auth/register', { email: stranger, password: 'CANARY' })
  await post(422, '/auth/register', { email: `${stranger} `.repeat(2), password: wrong })
  await post(422, '/auth/register', { email: stranger, password: { [wrong]: wrong } })
  await post(422, '/auth/register', { [stranger]: stranger, [wrong]: wrong })
  for (const body of [
    `{"email": "${stranger}", "password": "${third}`,
    `{"email": ${stranger}}`,
    third,
    `"${third}"}`,
  ]) {
    await ask(422, 'POST', '/auth/register', { body, headers: { 'Content-Type': 'application/json' } })
  }
  await ask(422, 'POST', '/auth/register', { form: { email: stranger, password: wrong } })
  await post(413, '/auth/register', { email: stranger, password: wrong.repeat(1_000) })

  // Logging in and out
  const one = await entered(ada, first)
  await badLogin(400, { username: ada, password: wrong })
  await badLogin(400, { username: stranger, password: wrong })
  await badLogin(422, { username: ada, password: wrong, grant_type: wrong })
  await badLogin(422, { username: ada })
  await ask(403, 'POST', '/auth/cookie/login', {
    form: { username: ada, password: first },
    headers: { Origin: 'https://elsewhere.example' },
  })
  await ask(401, 'GET', '/users/me', { bearer: `${one.bearer.slice(0, -1)}!` })
  await ask(401, 'GET', `/users/me?token=${one.bearer}`)
  await ask(404, 'GET', `/${encodeURIComponent(wrong)}/${ada}?password=${encodeURIComponent(wrong)}`)
  await ask(405, 'PUT', '/users/me', { bearer: one.bearer })
  await ask(200, 'GET', '/users/me', { cookie: one.cookie })

  // Verifying
  await post(202, '/auth/request-verify-token', { email: ada })
  await post(202, '/auth/request-verify-token', { email: stranger })
  await post(422, '/auth/request-verify-token', { email: wrong })
  const verifying = await handed('on_after_request_verify', ada)
  await pause()
  await post(400, '/auth/verify', { token: `${verifying}x` })
  await post(422, '/auth/verify', { token: [verifying] })
  await post(200, '/auth/verify', { token: verifying })
  await post(400, '/auth/verify', { token: verifying })

  // A forgotten password
  await post(202, '/auth/forgot-password', { email: ada })
  await post(202, '/auth/forgot-password', { email: stranger })
  const resetting = await handed('on_after_forgot_password', ada)
  await post(400, '/auth/reset-password', { token: verifying, password: second })
  await post(400, '/auth/reset-password', { token: resetting, password: ada })
  await post(422, '/auth/reset-password', { token: { $ne: resetting }, password: second })
  await post(200, '/auth/reset-password', { token: resetting, password: second })
  await post(400, '/auth/reset-password', { token: resetting, password: second })
  await ask(401, 'GET', '/users/me', { cookie: one.cookie })

  // Changing oneself
  const two = await entered(ada, second)
  const patchMe = (expected: number, json: object) => ask(expected, 'PATCH', '/users/me', { json, bearer: two.bearer })
  await patchMe(400, { password: 'CANARY' })
  await patchMe(400, { password: third, current_password: wrong })
  await patchMe(400, { email: eve })
  await patchMe(422, { email: wrong, is_active: wrong })
  await patchMe(200, { password: third, current_password: second, email: moved })
  await post(202, '/auth/request-verify-token', { email: moved })
  await handed('on_after_request_verify', moved)
  await pause()
  const three = await entered(moved, third)
  await ask(204, 'POST', '/auth/cookie/logout', { cookie: three.cookie })
  await ask(401, 'POST', '/auth/cookie/logout', { cookie: three.cookie })
  await ask(204, 'POST', '/auth/jwt/logout', { bearer: three.bearer })

  // Requests of superusers
  const four = await entered(moved, third)
  await ask(403, 'GET', `/users/${id}`, { bearer: four.bearer })
  await ask(403, 'DELETE', `/users/${id}`, { bearer: four.bearer })
  await ask(401, 'PATCH', `/users/${id}`, { json: { password: wrong } })
  const bearer = await logIn(url, superuserAddress)
  credentials.push(bearer)
  await ask(200, 'GET', `/users/${id}`, { bearer })
  await ask(404, 'GET', `/users/${moved}`, { bearer })
  await ask(404, 'PATCH', '/users/00000000-0000-4000-8000-000000000000', { json: { email: stranger }, bearer })
  await ask(400, 'PATCH', `/users/${id}`, { json: { email: eve }, bearer })
  await ask(422, 'PATCH', `/users/${id}`, { json: { is_superuser: wrong }, bearer })
  await ask(200, 'PATCH', `/users/${id}`, { json: { is_verified: true }, bearer })
  await post(202, '/auth/forgot-password', { email: moved })
  await handed('on_after_forgot_password', moved)
  await ask(204, 'DELETE', `/users/${id}`, { bearer })
  await ask(404, 'DELETE', `/users/${id}`, { bearer })
  await ask(401, 'GET', '/users/me', { cookie: four.cookie })
  await badLogin(400, { username: moved, password: third })

  await eventually('on_after_delete', () =>
    service.events.some(({ event, user }) => event === 'on_after_delete' && user.id === id),
  )
  await eventually('the delivered event to be removed', async () => !(await pause()).rows.includes(id))

  return {
    secrets: [...Object.values(passwords), ...credentials, ...tokens],
    credentials,
    errors,
    requests,
    deleted: id,
  }
}

/** The secrets that can be read in `bytes`, in any form in which a secret travels. Of a long one, its beginning counts. */
function found(secrets: readonly string[], bytes: Buffer): string[] {
  return secrets.filter((secret) => formsOf(secret).some((form) => bytes.includes(form)))
}

function formsOf(secret: string): string[] {
  const form = new URLSearchParams({ x: secret }).toString().slice(2)
  const base64 = Buffer.from(secret).toString('base64')
  // All JWTs begin alike: the ends of the payload and the signature identify one.
  const [, ...jwtParts] = secret.split('.').length === 3 ? secret.split('.') : []
  const beginning = /^[\w-]{43}$/.test(secret) ? [secret.slice(0, 12)] : []
  return [
    secret,
    encodeURIComponent(secret),
    form,
    JSON.stringify(secret).slice(1, -1),
    secret.normalize('NFD'),
    base64.replace(/=+$/, ''),
    Buffer.from(secret).toString('base64url'),
    Buffer.from(secret).toString('hex'),
    ...jwtParts.map((part) => part.slice(-20)),
    ...beginning,
  ]
}
