import { expect } from 'chai'
import { anAddress } from '../support/http/answers.ts'
import { call, goodPassword, logIn, register } from '../support/http/client.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

const attributes = 'HttpOnly; Secure; SameSite=Lax'
/** Up to the registrable domain: `co.uk` is a public suffix. */
const domains = ['', '; Domain=a.id.example.co.uk', '; Domain=id.example.co.uk', '; Domain=example.co.uk']
const removals = (name: string, path: string) =>
  domains.map((domain) => `${name}=; Path=${path}${domain}; Max-Age=0; ${attributes}`)
/** For a request to `path`: each of its prefixes, and the path of the settings. */
const everywhere = (path: string) => {
  const parts = path.split('/').slice(1)
  const prefixes = ['/', ...parts.map((_, at) => `/${parts.slice(0, at + 1).join('/')}`)]
  return [...new Set([...prefixes, '/users'])].flatMap((one) => removals('session', one))
}

describe('cookies of one name in several scopes', () => {
  let service: TestService
  let email: string
  before(async () => {
    service = await startTestService({
      PORTCULLIS_STORES__USERS__KIND: 'memory',
      PORTCULLIS_HTTP__PUBLIC_URL: 'https://a.id.example.co.uk',
      PORTCULLIS_BACKENDS__COOKIE__TRANSPORT__NAME: 'session',
      PORTCULLIS_BACKENDS__COOKIE__TRANSPORT__PATH: '/users',
      PORTCULLIS_BACKENDS__COOKIE__TRANSPORT__DOMAIN: 'id.example.co.uk',
    })
    email = (await register(service.url, anAddress())).email
  })
  after(() => service.stop())

  const setBy = async (method: string, path: string, sent: { cookie: string; bearer?: string }) => {
    const form = { username: email, password: goodPassword }
    const answer = await call(service.url, method, path, { ...sent, ...(path.endsWith('login') && { form }) })
    return { status: answer.status, set: answer.headers.getSetCookie() }
  }

  it('are removed in every scope by a 401', async () => {
    for (const [method, path] of [
      ['GET', '/users/me'],
      ['POST', '/auth/cookie/logout'],
    ] as const) {
      const answer = await setBy(method, path, { cookie: 'session=x; a=b; session=y' })
      expect(answer, path).to.deep.equal({ status: 401, set: everywhere(path) })
    }
  })

  it('are removed by a login before it sets the new one', async () => {
    const { status, set } = await setBy('POST', '/auth/cookie/login', { cookie: 'session=x; session=x' })
    expect(status).to.equal(204)
    const removed = everywhere('/auth/cookie/login')
    expect(set.slice(0, removed.length)).to.deep.equal(removed)
    const [session = '', device = '', ...others] = set.slice(removed.length)
    expect(session).to.match(/^session=[\w-]{43}; Path=\/users; Domain=id\.example\.co\.uk; /)
    expect(device).to.match(/^__Host-device=/)
    expect(others).to.deep.equal([])
  })

  it('are removed for device cookies as well', async () => {
    const { set } = await setBy('POST', '/auth/cookie/login', { cookie: '__Host-device=x; __Host-device=y' })
    const names = set.map((cookie) => cookie.replace(/^([^=]+)=[^;]+/, '$1=value').split('; Max-Age')[0])
    expect(names).to.deep.equal([
      ...['/', '/auth', '/auth/cookie', '/auth/cookie/login']
        .flatMap((path) => removals('__Host-device', path))
        .map((cookie) => cookie.split('; Max-Age')[0]),
      'session=value; Path=/users; Domain=id.example.co.uk',
      '__Host-device=value; Path=/',
    ])
  })

  it('stay if there is only one, whatever its value', async () => {
    expect(await setBy('GET', '/users/me', { cookie: 'session=x; session2=y' })).to.deep.equal({ status: 401, set: [] })
    const { set } = await setBy('POST', '/auth/cookie/login', { cookie: 'session=x; __Host-device=y' })
    expect(set.map((cookie) => cookie.split('=')[0])).to.deep.equal(['session', '__Host-device'])
    const bearer = await logIn(service.url, email)
    expect(await setBy('GET', '/users/me', { bearer, cookie: 'session=x; session=y' })).to.deep.equal({
      status: 200,
      set: [],
    })
  })
})
