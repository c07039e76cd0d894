import { createHmac, createPublicKey, hash, type KeyObject } from 'node:crypto'
import { createServer } from 'node:http'
import { join } from 'node:path'
import sqlite from 'better-sqlite3'
import { expect } from 'chai'
import { type KeyAlgorithm, privateKeyOf, sign } from '../../src/adapters/credentials/signing/algorithms.ts'
import { keySetName, keysIn } from '../../src/adapters/credentials/signing/key-set.ts'
import { derivedKeys } from '../../src/adapters/crypto/derived-keys.ts'
import { call, goodPassword, logIn, logInByCookie, register } from '../support/http/client.ts'
import { environmentOf } from '../support/process/commands.ts'
import {
  acceptedSlips,
  type NotesApp,
  type NotesExample,
  prepareNotesApps,
  startNotesApp,
} from '../support/project/notes-apps.ts'
import { blocksOf, projectFile, tourOf } from '../support/project/readme-blocks.ts'
import { goThrough } from '../support/project/readme-tour.ts'
import { enrol } from '../support/scenes/enrol.ts'
import { challenged, codeOf, enrolled, prove } from '../support/scenes/factors.ts'
import { quickest } from '../support/scenes/quickest.ts'
import { listen } from '../support/servers/ports.ts'
import { startTestService, type TestService } from '../support/services/service.ts'
import { goodSecret } from '../support/services/settings.ts'
import { scratchFolder } from '../support/services/spawned-service.ts'

const examples: readonly NotesExample[] = ['express', 'fastapi', 'go']
/** The backend that signs with each algorithm. */
const backends = { EdDSA: 'jwt', ES256: 'es', RS256: 'rs' } as const
const algorithms = Object.keys(backends) as readonly KeyAlgorithm[] // safe: the keys of the table

const bearerOf = (kind: string) => ({ transport: { kind: 'bearer' }, strategy: { kind } })
const signing = (algorithm: string) => ({ ...bearerOf('jwt'), strategy: { kind: 'jwt', algorithm } })
const settings = {
  tenants: { by: 'path', list: { acme: {}, bolt: {} } },
  backends: {
    jwt: signing('EdDSA'),
    es: { prefix: '/auth/es', ...signing('ES256') },
    rs: { prefix: '/auth/rs', ...signing('RS256') },
    opaque: { prefix: '/auth/opaque', ...bearerOf('stored') },
  },
  limits: { enabled: false },
  routers: { factors: { enabled: true } },
}

const unauthorized = { status: 401, body: { detail: 'Unauthorized' } }
const forbidden = { status: 403, body: { detail: 'Forbidden' } }

interface Parts {
  readonly header: Readonly<Record<string, unknown>>
  readonly claims: Readonly<Record<string, unknown>>
}

const encoded = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
const decoded = (part = '') => JSON.parse(Buffer.from(part, 'base64url').toString())

function partsOf(token: string): Parts & { readonly signature: string } {
  const [header, claims, signature = ''] = token.split('.')
  return { header: decoded(header), claims: decoded(claims), signature }
}

describe('examples/fastapi, examples/express and examples/go', function () {
  this.timeout(180_000)
  let service: TestService
  let acme: string
  let bolt: string
  let stopFront: () => void
  let startedAt: number
  const apps = new Map<NotesExample, NotesApp>()
  /** Between the apps and the service. */
  const front = { url: '', fault: null as 'cut' | number | null, asked: [] as string[], setsCookie: '' }
  let tokens: Readonly<Record<KeyAlgorithm, string>>
  let foreignTokens: Readonly<Record<KeyAlgorithm, string>>

  before(async function () {
    this.timeout(900_000) // the first time, it installs packages and compiles
    await prepareNotesApps(this)
    service = await startTestService(
      { PORTCULLIS_SECRET: goodSecret, ...quickest },
      { files: { 'portcullis.config.json': settings } },
    )
    acme = service.urlOf('acme')
    bolt = service.urlOf('bolt')
    const server = createServer(async (request, response) => {
      if (front.fault === 'cut') return void request.socket.destroy()
      if (front.fault !== null) return void response.writeHead(front.fault).end('{}')
      front.asked.push(request.url ?? '')
      const { authorization, cookie } = request.headers
      const headers = { ...(authorization && { authorization }), ...(cookie && { cookie }) }
      const answer = await fetch(`${service.url}${request.url}`, { headers })
      const more = front.setsCookie === '' ? {} : { 'Set-Cookie': `${front.setsCookie}; Path=/` }
      response.writeHead(answer.status, { 'Content-Type': 'application/json', ...more }).end(await answer.text())
    })
    front.url = `http://localhost:${await listen(server)}`
    stopFront = () => server.close().closeAllConnections()
    startedAt = performance.now()
    await Promise.all(
      examples.map(async (example) => {
        apps.set(example, await startNotesApp(example, { accounts: accountsOf(acme), issuer: acme }))
      }),
    )
    await register(acme, 'ada@example.com')
    await register(bolt, 'ada@example.com')
    tokens = await tokensAt(acme)
    foreignTokens = await tokensAt(bolt)
  })
  after(async () => {
    await Promise.all([...apps.values()].map((app) => app.stop()))
    stopFront?.()
    await service?.stop()
  })

  const accountsOf = (tenant: string) => `${front.url}${new URL(tenant).pathname}`
  const questions = () => front.asked.filter((path) => path.endsWith('/users/me')).length
  const readings = () => front.asked.filter((path) => path.endsWith('/jwks.json')).length
  const appOf = (example: NotesExample) => apps.get(example)?.url ?? ''

  async function tokenFrom(tenant: string, backend: string, email = 'ada@example.com'): Promise<string> {
    const form = { username: email, password: goodPassword }
    const { body } = await call(tenant, 'POST', `/auth/${backend}/login`, { form })
    return (body as { access_token: string }).access_token // safe: a wrong one is refused
  }

  async function tokensAt(tenant: string) {
    const all = algorithms.map(async (alg) => [alg, await tokenFrom(tenant, backends[alg])] as const)
    return Object.fromEntries(await Promise.all(all)) as Record<KeyAlgorithm, string> // safe: one of each
  }

  async function ask(url: string, path: string, headers: Readonly<Record<string, string>> = {}, text?: string) {
    const sent = text === undefined ? {} : { method: 'POST', body: JSON.stringify({ text }) }
    for (;;) {
      const answer = await fetch(url + path, { headers: { 'Content-Type': 'application/json', ...headers }, ...sent })
      // On a busy machine the service may need more than the 2 s for which the apps wait.
      if (answer.status === 503 && front.fault === null) continue
      const body: unknown = answer.headers.get('Content-Type')?.includes('json') ? await answer.json() : null
      return { status: answer.status, body }
    }
  }
  const bearer = (token: string) => ({ Authorization: `Bearer ${token}` })

  /** The private keys of a tenant, as the service has sealed them. */
  function privateKeys(tenant: string): ReadonlyMap<string, KeyObject> {
    const db = sqlite(join(service.dataFolder, 'tenants', tenant, 'portcullis.sqlite'), { readonly: true })
    const text = db.prepare<[string], string>('SELECT value FROM meta WHERE name = ?').pluck().get(keySetName) ?? ''
    db.close()
    const { unsealSigningKey } = derivedKeys(goodSecret, tenant)
    const unsealed = keysIn(text).map(({ kid, sealed }) => [kid, unsealSigningKey(sealed, kid)] as const)
    return new Map(unsealed.map(([kid, key]) => [kid, privateKeyOf(key ?? Buffer.of())]))
  }

  /** Forged tokens by what is wrong, and a right one of a service whose clock is ahead. */
  async function forged(alg: KeyAlgorithm) {
    const { header, claims, signature } = partsOf(tokens[alg])
    const key = privateKeys('acme').get(String(header.kid))
    if (key === undefined) throw new Error('no such key')
    const changed = (more: Partial<Parts>) =>
      `${encoded({ ...header, ...more.header })}.${encoded({ ...claims, ...more.claims })}`
    const signed = (more: Partial<Parts>, by = key) => `${changed(more)}.${sign(alg, by, changed(more))}`
    const publicKey = createPublicKey(key)
    const published = (await (await fetch(`${acme}/.well-known/jwks.json`)).json()) as { keys: { kid: string }[] } // safe: RFC 7517
    const jwk = published.keys.find(({ kid }) => kid === header.kid)
    const pem = publicKey.export({ type: 'spki', format: 'pem' })
    const macs = {
      PEM: pem,
      'PEM without the last line feed': String(pem).trimEnd(),
      DER: publicKey.export({ type: 'spki', format: 'der' }),
      JWK: JSON.stringify(jwk),
      'first member of the JWK': Buffer.from(String(publicKey.export({ format: 'jwk' }).x ?? ''), 'base64url'),
    }
    const byMac = Object.entries(macs).map(([name, secret]) => {
      const input = changed({ header: { alg: 'HS256' } })
      return [`HS256 with the ${name}`, `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`]
    })
    const foreign = partsOf(foreignTokens[alg])
    const foreignKey = privateKeys('bolt').get(String(foreign.header.kid))
    const now = Math.floor(Date.now() / 1000)
    const other = algorithms.find((one) => one !== alg)
    const ahead = signed({ claims: { iat: now + 5 } })
    const attacks: Readonly<Record<string, string>> = {
      'alg none': `${changed({ header: { alg: 'none' } })}.`,
      'alg none with the signature': `${changed({ header: { alg: 'none' } })}.${signature}`,
      'alg NONE': `${changed({ header: { alg: 'NONE' } })}.`,
      ...Object.fromEntries(byMac),
      'another algorithm with this key': signed({ header: { alg: other } }),
      'an unknown kid': signed({ header: { kid: hash('sha256', 'x', 'base64url') } }),
      'no kid': signed({ header: { kid: undefined } }),
      'a kid that is no text': signed({ header: { kid: [header.kid] } }),
      'a token of another tenant': foreignTokens[alg],
      'our claims by a key of another tenant': signed({ header: { kid: foreign.header.kid } }, foreignKey),
      'a key of another tenant under our kid': signed({}, foreignKey),
      'the type JWT': signed({ header: { typ: 'JWT' } }),
      'the type of a proof': signed({ header: { typ: 'dpop+jwt' } }),
      'no type': signed({ header: { typ: undefined } }),
      'the issuer of another tenant': signed({ claims: { iss: bolt } }),
      'no issuer': signed({ claims: { iss: undefined } }),
      'another audience': signed({ claims: { aud: 'portcullis:other' } }),
      'no audience': signed({ claims: { aud: undefined } }),
      expired: signed({ claims: { exp: now - 1 } }),
      'no end': signed({ claims: { exp: undefined } }),
      'no user': signed({ claims: { sub: undefined } }),
      'a changed payload': `${changed({ claims: { sub: '00000000-0000-4000-8000-000000000000' } })}.${signature}`,
      'no signature': `${changed({})}.`,
    }
    return { ahead, attacks: Object.entries(attacks) }
  }

  it('answer 503 and never 401 until they have read the keys', async () => {
    for (const fault of ['cut', 500] as const) {
      front.fault = fault
      for (const example of examples) {
        for (const path of ['/', '/notes'])
          expect((await ask(appOf(example), path, bearer(tokens.EdDSA))).status, example).to.equal(503)
      }
    }
    front.fault = null
  })

  for (const alg of algorithms) {
    it(`accept a token of ${alg}, and refuse every forged one, by the keys alone`, async () => {
      const { ahead, attacks } = await forged(alg)
      const { sub } = partsOf(tokens[alg]).claims
      for (const example of examples) {
        const asked = questions()
        const url = appOf(example)
        expect(await ask(url, '/notes', bearer(tokens[alg])), example).to.deep.equal({ status: 200, body: [] })
        expect(await ask(url, '/', bearer(ahead)), example).to.deep.equal({ status: 200, body: { user: sub } })
        for (const [name, token] of attacks) {
          expect(await ask(url, '/notes', bearer(token)), `${example}: ${name}`).to.deep.equal(unauthorized)
          expect(await ask(url, '/', bearer(token)), `${example}: ${name}`).to.deep.include({ body: { user: null } })
        }
        expect(questions() - asked, example).to.equal(0)
      }
    })
  }

  it('read the keys no more than once in 30 s for many made-up names', () => {
    const seconds = (performance.now() - startedAt) / 1000
    expect(readings()).to.be.at.least(examples.length)
    expect(readings() / examples.length).to.be.below(2 + seconds / 30)
  })

  it('ask for verified users and superusers, also when the token has not changed', async () => {
    const [root] = await enrol(quickest, join(service.dataFolder, 'tenants', 'acme'), ['root@example.com'], {
      isSuperuser: true,
    })
    const rootToken = await logIn(acme, 'root@example.com')
    for (const [at, example] of examples.entries()) {
      const url = appOf(example)
      const email = `verified-${at}@example.com`
      const { id } = await register(acme, email)
      const headers = bearer(await logIn(acme, email))
      expect(await ask(url, '/notes', headers, 'a lamp'), example).to.deep.equal(forbidden)
      expect(await ask(url, '/notes', {}, 'a lamp'), example).to.deep.equal(unauthorized)
      const change = { bearer: rootToken, json: { is_verified: true } }
      expect((await call(acme, 'PATCH', `/users/${id}`, change)).status).to.equal(200)
      const note = { text: 'a lamp', by: email }
      expect(await ask(url, '/notes', headers, 'a lamp'), example).to.deep.equal({ status: 201, body: [note] })
      expect(await ask(url, '/notes', headers), example).to.deep.equal({ status: 200, body: [note] })
      expect(await ask(url, '/all-notes', headers), example).to.deep.equal(forbidden)
      const all = await ask(url, '/all-notes', bearer(rootToken))
      expect(all, example).to.deep.equal({ status: 200, body: { [id]: [note] } })
      expect(await ask(url, '/', bearer(rootToken)), example).to.deep.include({ body: { user: root?.id } })
    }
  })

  it('ask for a cookie and for a token of a stored session, and keep no cookie of one user for the next', async () => {
    const cookie = await logInByCookie(acme, 'ada@example.com')
    const { sub } = partsOf(tokens.EdDSA).claims
    const stored = await tokenFrom(acme, 'opaque')
    front.setsCookie = cookie
    for (const example of examples) {
      const url = appOf(example)
      for (const headers of [{ Cookie: cookie }, bearer(stored)]) {
        expect(await ask(url, '/', headers), example).to.deep.equal({ status: 200, body: { user: sub } })
      }
      const others = [
        {},
        { Cookie: 'other=1' },
        { Cookie: 'other=\u00e9' },
        bearer('another'),
        { Authorization: 'Basic YTpi' },
      ]
      for (const headers of others) {
        expect(await ask(url, '/notes', headers), example).to.deep.equal(unauthorized)
        expect(await ask(url, '/', headers), example).to.deep.equal({ status: 200, body: { user: null } })
      }
    }
    front.setsCookie = ''
  })

  it('demand a login with two factors, by the token or by the answer of the service', async () => {
    const email = 'two-factors@example.com'
    const weak = bearer(tokens.EdDSA)
    let at = new Date()
    const { secret } = await enrolled(acme, email, () => at)
    at = new Date(at.getTime() + 30_000) // the next code counts already
    const { challenge } = await challenged(acme, email)
    const proved = await prove(acme, { challenge, code: codeOf(secret, at) })
    const strong = bearer((proved.body as { access_token: string }).access_token) // safe: its use proves it
    const cookie = { Cookie: await logInByCookie(acme, 'ada@example.com') }
    const remove = async (example: NotesExample, headers: Readonly<Record<string, string>>) => {
      const answer = await fetch(`${appOf(example)}/notes`, { method: 'DELETE', headers })
      return { status: answer.status, text: await answer.text() }
    }
    for (const example of examples) {
      for (const headers of [weak, cookie]) {
        const { status, text } = await remove(example, headers)
        expect([status, JSON.parse(text)], example).to.deep.equal([403, { detail: 'SECOND_FACTOR_REQUIRED' }])
      }
      expect((await remove(example, strong)).status, example).to.equal(204)
      expect((await remove(example, {})).status, example).to.equal(401)
    }
  })

  it('refuse a slip in what a route demands, which would let everybody in', async () => {
    for (const example of examples) expect(await acceptedSlips(example), example).to.equal('')
  })

  it('accept a token after the logout until its end by the keys, and at no time where the service decides', async () => {
    const others = await Promise.all(
      examples.map((example) => startNotesApp(example, { accounts: accountsOf(acme), issuer: null })),
    )
    try {
      const token = await logIn(acme, 'ada@example.com')
      const { iat, exp } = partsOf(token).claims
      expect(Number(exp) - Number(iat)).to.equal(3600) // as docs/verify-elsewhere.md says
      for (const { url } of others) expect((await ask(url, '/notes', bearer(token))).status).to.equal(200)
      expect((await call(acme, 'POST', '/auth/jwt/logout', { bearer: token })).status).to.equal(204)
      for (const [at, example] of examples.entries()) {
        expect((await ask(appOf(example), '/notes', bearer(token))).status, example).to.equal(200)
        expect(await ask(appOf(example), '/notes', bearer(token), 'a lamp'), example).to.deep.equal(unauthorized)
        expect(await ask(others[at]?.url ?? '', '/notes', bearer(token)), example).to.deep.equal(unauthorized)
      }
    } finally {
      await Promise.all(others.map((app) => app.stop()))
    }
  })

  it('answer 503 and never 401 while the accounts do not answer, except where they know the keys', async () => {
    for (const example of examples) {
      const url = appOf(example)
      expect((await ask(url, '/notes', bearer(tokens.EdDSA))).status, example).to.equal(200)
      for (const fault of ['cut', 500] as const) {
        front.fault = fault
        expect((await ask(url, '/notes', bearer(tokens.EdDSA))).status, example).to.equal(200)
        expect((await ask(url, '/notes', bearer(tokens.EdDSA), 'a lamp')).status, example).to.equal(503)
        for (const path of ['/', '/notes']) {
          const { status, body } = await ask(url, path, { Cookie: 'a=b' })
          expect([status, Object.keys(body ?? {})], example).to.deep.equal([503, ['detail']]) // no stack of an error
        }
      }
      front.fault = null
      expect((await ask(url, '/notes', { Cookie: 'a=b' })).status, example).to.equal(401)
    }
    front.fault = 403 // routers.users.requiresVerification
    expect(await ask(appOf('fastapi'), '/notes', { Cookie: 'a=b' })).to.deep.equal(forbidden)
    front.fault = null
  })

  it('are used as the README of the FastAPI app shows', async () => {
    const steps = tourOf(blocksOf(projectFile('examples/fastapi/README.md')))
    expect(steps).to.have.length(1)
    const here = (text: string) =>
      text
        .replaceAll('http://localhost:3000', acme)
        .replaceAll('http://localhost:8000', appOf('fastapi'))
        .replaceAll('ada@', 'tour@')
    const lines = steps.map((step) => ({ ...step, lines: here(step.lines) }))
    await goThrough(lines, scratchFolder(), environmentOf({}))
  })
})
