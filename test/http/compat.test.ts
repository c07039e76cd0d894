import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import document from '../compat/fastapi-document.json' with { type: 'json' }
import { anAddress, refused } from '../support/http/answers.ts'
import { call, goodPassword, logIn, logInByCookie, register } from '../support/http/client.ts'
import { type Acme, aPerson, startAcme } from '../support/providers/acme.ts'
import { Browser } from '../support/providers/oauth-browser.ts'
import { startTestService, type TestService } from '../support/services/service.ts'
import { scratchFolder } from '../support/services/spawned-service.ts'

type Json = Readonly<Record<string, unknown>>
type Content = { readonly content?: Readonly<Record<string, { readonly schema: { readonly $ref?: string } }>> }

interface Operation {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly parameters?: readonly { readonly in: string; readonly name: string }[]
  readonly security?: readonly Json[]
  readonly requestBody?: Content
  readonly responses: Readonly<Record<string, Content>>
}

interface Served {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, { readonly required?: readonly string[]; readonly properties: Json }>>
    readonly securitySchemes: Readonly<Record<string, { readonly type: string }>>
  }
}

const jwtOf = (claims: object) => `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.c2ln`

describe('the preset of fastapi-users', () => {
  let service: TestService
  let google: Acme
  before(async () => {
    const module = join(scratchFolder(), 'handlers.mjs')
    await writeFile(
      module,
      `export const validate_password = (password) => (/bad/.test(password) ? 'too bad' : undefined)`,
    )
    google = await startAcme('google')
    service = await startTestService({
      PORTCULLIS_STORES__USERS__KIND: 'memory',
      PORTCULLIS_COMPAT__PRESET: 'fastapi-users',
      PORTCULLIS_HANDLERS__MODULE: module,
      PORTCULLIS_HANDLERS__CONSOLE: 'true',
      ...google.env({ BACKEND: 'jwt' }),
    })
  })
  after(async () => {
    await service?.stop()
    await google?.close()
  })

  it('answers with the body null where fastapi-users does', async () => {
    const { email } = await register(service.url, anAddress())
    const ask = (path: string, json: object) => call(service.url, 'POST', `/auth/${path}`, { json })
    for (const path of ['forgot-password', 'request-verify-token']) {
      const { status, text } = await ask(path, { email })
      expect({ status, text }, path).to.deep.equal({ status: 202, text: 'null' })
    }
    const { token } = await service.event((one) => one.event === 'on_after_forgot_password' && one.user.email === email)
    const { status, text } = await ask('reset-password', { token, password: `${goodPassword} of old` })
    expect({ status, text }).to.deep.equal({ status: 200, text: 'null' })
    const bearer = await logIn(service.url, email, `${goodPassword} of old`)
    const ended = await call(service.url, 'POST', '/auth/jwt/logout', { bearer })
    expect([ended.status, ended.text]).to.deep.equal([204, ''])
  })

  it('leaves out the rule of a handler, and keeps a rule of the service', async () => {
    const ask = async (password: string) =>
      (await call(service.url, 'POST', '/auth/register', { json: { email: anAddress(), password } })).body
    expect(await ask('a bad password of mine')).to.deep.equal({
      detail: { code: 'REGISTER_INVALID_PASSWORD', reason: 'too bad' },
    })
    expect(await ask('short')).to.have.nested.property('detail.rule', 'too_short')
  })

  it('calls the cookie fastapiusersauth', async () => {
    const { email } = await register(service.url, anAddress())
    const form = { username: email, password: goodPassword }
    const answer = await call(service.url, 'POST', '/auth/cookie/login', { form })
    expect(answer.headers.getSetCookie()[0]).to.match(
      /^fastapiusersauth=[\w-]{43}; Path=\/; .*HttpOnly; Secure; SameSite=Lax$/,
    )
  })

  it('reports a PATCH that changes nothing', async () => {
    const { id, email } = await register(service.url, anAddress())
    await call(service.url, 'PATCH', '/users/me', { bearer: await logIn(service.url, email), json: {} })
    await service.event((one) => one.event === 'on_after_update' && one.user.id === id)
  })

  it('names unknown and expired states as fastapi-users does, and uses a state once', async () => {
    const callback = (state: string) => call(service.url, 'GET', `/auth/google/callback?code=c&state=${state}`)
    const expired = jwtOf({ exp: 1_600_000_000 })
    for (const state of ['STATE', jwtOf({ exp: 9_999_999_999 }), jwtOf([]), 'a.b.c'])
      expect(await callback(state), state).to.deep.include(refused(400, 'ACCESS_TOKEN_DECODE_ERROR'))
    expect(await callback(expired)).to.deep.include(refused(400, 'ACCESS_TOKEN_ALREADY_EXPIRED'))

    const browser = new Browser(service.url)
    const back = google.approve(await browser.begin(google), aPerson())
    expect((await callback(back.state ?? '')).body).to.deep.equal({ detail: 'OAUTH_INVALID_STATE' })
    expect((await browser.comeBack(google, back)).status).to.equal(200)
    expect((await browser.comeBack(google, back)).body).to.deep.equal({ detail: 'OAUTH_INVALID_STATE' })
  })

  it('keeps PKCE, and links no account by its address', async () => {
    const { email } = await register(service.url, anAddress())
    const browser = new Browser(service.url)
    const url = await browser.begin(google)
    expect(new URL(url).searchParams.get('code_challenge_method')).to.equal('S256')
    const back = google.approve(url, { ...aPerson(), email })
    const answer = await browser.comeBack(google, back)
    expect(answer.body).to.deep.equal({ detail: 'OAUTH_USER_ALREADY_EXISTS' })
  })

  describe('in the OpenAPI document', () => {
    let served: Served
    before(async () => {
      served = (await call(service.url, 'GET', '/openapi.json')).body as Served // safe: compared below
    })

    it('has every operation of an app with all routers, with the names that FastAPI makes', () => {
      for (const [name, theirs] of Object.entries(document.operations)) {
        const [method = '', path = ''] = name.split(' ')
        const ours = served.paths[path]?.[method]
        expect(ours, name).to.deep.include({ operationId: theirs.operationId, tags: theirs.tags })
        const security = (ours?.security ?? []).flatMap(Object.keys)
        if (theirs.security.length > 0) expect(security, name).to.deep.equal(theirs.security)
        expect(contentOf(ours?.requestBody), name).to.deep.equal(theirs.body)
        const parameters = (ours?.parameters ?? []).map((one) => `${one.in} ${one.name}`)
        const missing = theirs.parameters.filter((one) => !parameters.includes(one))
        expect(missing, name).to.deep.equal(path.endsWith('/callback') ? ['query code_verifier'] : [])
        for (const [status, content] of Object.entries(theirs.answers)) {
          const answer = ours?.responses[status]
          if (Object.values(content).includes('any')) continue
          if (Object.keys(content).length > 0 && answer !== undefined)
            expect(contentOf(answer), `${name} ${status}`).to.deep.equal(content)
        }
      }
    })

    it('answers successes with a status of FastAPI', () => {
      for (const [name, { answers }] of Object.entries(document.operations)) {
        const [method = '', path = ''] = name.split(' ')
        const successes = Object.keys(served.paths[path]?.[method]?.responses ?? {}).filter((status) => status < '300')
        const others = successes.filter((status) => !(status in answers))
        expect(others, name).to.deep.equal(name === 'post /auth/jwt/logout' ? ['204'] : [])
      }
    })

    it('has every schema, with every property and no other that a request needs', () => {
      for (const [name, { required, properties }] of Object.entries(document.schemas)) {
        const ours = served.components.schemas[name]
        expect(Object.keys(ours?.properties ?? {}), name).to.include.members(
          properties.filter((one) => name !== 'ValidationError' || one !== 'input'),
        )
        expect(ours?.required ?? [], name).to.include.members(required)
        const isSent = name.startsWith('Body_') || name === 'UserCreate' || name === 'UserUpdate'
        if (isSent) expect(ours?.required ?? [], name).to.have.members(required)
      }
      const schemes = Object.entries(served.components.securitySchemes).map(([name, { type }]) => [name, type])
      expect(Object.fromEntries(schemes)).to.deep.equal(document.securitySchemes)
    })

    it('describes the items of each list, without which some generators leave an operation out', () => {
      const lists: Json[] = []
      JSON.stringify(served, (_, value) => {
        if ([value?.type].flat().includes('array')) lists.push(value)
        return value
      })
      expect(lists).to.not.be.empty
      for (const list of lists) expect(list, String(list.description)).to.have.property('items')
    })

    it('refers to no schema that is missing', () => {
      const names = [...JSON.stringify(served).matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name)
      expect(served.components.schemas).to.include.all.keys(names)
    })
  })

  it('yields to each setting that is given', async () => {
    const other = await startTestService({
      PORTCULLIS_STORES__USERS__KIND: 'memory',
      PORTCULLIS_COMPAT__PRESET: 'fastapi-users',
      PORTCULLIS_COMPAT__NULL_BODIES: 'false',
      PORTCULLIS_COMPAT__DOCUMENT_NAMES: 'false',
      PORTCULLIS_BACKENDS__COOKIE__TRANSPORT__NAME: '__Host-mine',
    })
    try {
      const { email } = await register(other.url, anAddress())
      const { text } = await call(other.url, 'POST', '/auth/forgot-password', { json: { email } })
      expect(text).to.equal('')
      expect(await logInByCookie(other.url, email)).to.match(/^__Host-mine=/)
    } finally {
      await other.stop()
    }
  })
})

function contentOf(part: Content | undefined): Record<string, string> {
  const entries = Object.entries(part?.content ?? {})
  return Object.fromEntries(entries.map(([type, { schema }]) => [type, schema.$ref?.split('/').at(-1) ?? 'any']))
}
