import { expect } from 'chai'
import { anAddress } from '../support/http/answers.ts'
import { call, logInByCookie, register } from '../support/http/client.ts'
import { rawCall } from '../support/http/raw-request.ts'
import { type Acme, aPerson, startAcme } from '../support/providers/acme.ts'
import { Browser, type Way } from '../support/providers/oauth-browser.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

const navigate = { Accept: 'text/html,*/*;q=0.8', 'Accept-Language': 'en' }

describe('a navigation that fails', () => {
  let acme: Acme
  let service: TestService
  let bare: TestService
  before(async () => {
    acme = await startAcme()
    const memory = { PORTCULLIS_STORES__USERS__KIND: 'memory' }
    const few = { PORTCULLIS_LIMITS__OAUTH_REQUESTS_PER_CLIENT: '40', PORTCULLIS_HTTP__TRUSTED_PROXIES: '127.0.0.1' }
    service = await startTestService({ ...memory, ...few, ...acme.env({ BACKEND: 'cookie' }) })
    bare = await startTestService({ ...memory, PORTCULLIS_PAGES__ENABLED: 'false' })
  })
  after(async () => {
    await service?.stop()
    await bare?.stop()
    await acme?.close()
  })

  async function open(path: string, { cookie, ...headers }: Record<string, string> = {}, of = service, method = 'GET') {
    const all = { ...navigate, ...headers, ...(cookie !== undefined && { Cookie: cookie }) }
    const response = await fetch(`${of.url}${path}`, { method, redirect: 'manual', headers: all })
    return { status: response.status, headers: response.headers, text: await response.text() }
  }
  function expectPage(
    { status, headers, text }: Awaited<ReturnType<typeof open>>,
    wanted: number,
    words: string,
  ): void {
    expect(status, text).to.equal(wanted)
    expect(headers.get('Content-Type')).to.equal('text/html; charset=utf-8')
    expect(headers.get('Cache-Control')).to.equal('no-store')
    expect(headers.get('Content-Security-Policy')).to.match(/^default-src 'none'; (?!.*script)(?!.*unsafe)/)
    expect(text).to.include(words)
    expect(text).to.not.match(/detail|<script|[{}]/)
  }
  const signedIn = async () => {
    const { email } = await register(service.url, anAddress())
    return { email, cookie: await logInByCookie(service.url, email) }
  }
  const begun = async (visitor: Browser, way?: Way) => acme.approve(await visitor.begin(acme, way), aPerson())
  const callback = (back: Readonly<Record<string, string>>) => `/auth/acme/callback?${new URLSearchParams(back)}`
  const cookiesOf = ({ jar }: Browser) => [...jar].map(([name, value]) => `${name}=${value}`).join('; ')

  it('gets a page for a path that does not exist, with the way to the account', async () => {
    for (const path of ['/account/', '/account/nothing', '/nothing', '/%3Cb%3E?x=<b>']) {
      const answer = await open(path)
      expectPage(answer, 404, 'This link is not complete, or the page does not exist.')
      expect(answer.text).to.include('href="/account"').and.not.to.include('<b>')
    }
    expectPage(
      await open('/nothing', { 'Accept-Language': 'de' }),
      404,
      'Dieser Link ist unvollständig, oder es gibt die Seite nicht.',
    )
    expectPage(await open('/nothing', {}, bare), 404, 'This link is not complete, or the page does not exist.')
  })

  it('gets a page also without fetch metadata, while programs get JSON', async () => {
    const accepted = async (accept: string, mode?: string) => {
      const headers: [string, string][] = [['Accept', accept]]
      if (mode !== undefined) headers.push(['Sec-Fetch-Mode', mode])
      const answer = await rawCall(service.url, { method: 'GET', path: '/nothing', headers })
      return answer.headers.get('Content-Type')
    }
    expect(await accepted('text/html,application/xml;q=0.9,*/*;q=0.8')).to.match(/^text\/html/)
    expect(await accepted('*/*', 'navigate')).to.match(/^text\/html/)
    for (const accept of ['*/*', 'application/json', 'application/json, text/html', 'image/png']) {
      expect(await accepted(accept), accept).to.match(/^application\/json/)
    }
  })

  it('is no request of a program that prefers HTML by default, as Java does, and posts', async () => {
    const java = { Accept: 'text/html, image/gif, image/jpeg, */*; q=0.2' }
    const wrong = { username: 'nobody@example.com', password: 'not the right one' }
    const refused = await call(service.url, 'POST', '/auth/cookie/login', { form: wrong, headers: java })
    expect([refused.status, refused.body]).to.deep.equal([400, { detail: 'LOGIN_BAD_CREDENTIALS' }])
    const headers: [string, string][] = [['Sec-Fetch-Mode', 'navigate']]
    const posted = await rawCall(service.url, { method: 'POST', path: '/nothing', headers })
    expect(posted.headers.get('Content-Type')).to.match(/^text\/html/)
  })

  it('tells that a sign-in failed, and how', async () => {
    const visitor = new Browser(service.url)
    const lost = await begun(visitor)
    expectPage(await open(callback(lost)), 400, 'This attempt is too old, or began in another browser.')
    const twice = await begun(visitor)
    await visitor.comeBack(acme, twice)
    const again = await open(callback(twice))
    expectPage(again, 400, 'The sign-in did not work')
    expect(again.text).to.include('href="/account/sign-in"')
    expectPage(await open(callback({ error: 'access_denied' })), 400, 'You cancelled, or the other service refused.')
    expectPage(await open(callback({})), 400, 'This link is not complete.')
    expectPage(await open(callback({}), { 'Accept-Language': 'de' }), 400, 'Dieser Link ist unvollständig.')
    const down = await begun(visitor)
    acme.instead('token', { status: 503 })
    const failed = await open(callback(down), { cookie: cookiesOf(visitor) })
    acme.instead('token', null)
    expectPage(failed, 502, 'The other service does not answer correctly.')
  })

  it('tells a person with a session at the callback of a sign-in who is signed in', async () => {
    const { email, cookie } = await signedIn()
    const answer = await open(callback({ code: 'x', state: 'y' }), { cookie })
    expectPage(answer, 400, `You are signed in as ${email}.`)
    expect(answer.text).to.include('href="/account/sign-in?another"')
  })

  it('always tells that a link failed', async () => {
    const { cookie } = await signedIn()
    const path = '/auth/associate/acme/callback?code=x&state=y'
    for (const [headers, status] of [
      [{ cookie }, 400],
      [{}, 401],
    ] as const) {
      expectPage(await open(path, headers), status, 'The account was not linked')
    }
    expectPage(await open('/auth/associate/acme/callback', { cookie }), 400, 'This link is not complete.')
  })

  it('tells a person without a session to sign in', async () => {
    for (const path of ['/users/me', '/auth/associate/acme/callback?code=x&state=y']) {
      const answer = await open(path)
      expectPage(answer, 401, 'You are not signed in.')
      expect(answer.text).to.include('href="/account/sign-in"').and.not.to.include('href="/account"')
      expectPage(await open(path, { 'Accept-Language': 'de' }), 401, 'Sie sind nicht angemeldet.')
    }
  })

  it('gets a page for a wrong method and for a limit', async () => {
    const wrong = await open('/auth/register', {}, service)
    expectPage(wrong, 405, 'A browser cannot open it.')
    expect(wrong.text.match(/That did not work/g)).to.have.length(2) // in the title and in the heading
    expect(wrong.headers.get('Allow')).to.equal('POST')
    const from = { 'X-Forwarded-For': '192.0.2.1' }
    await Promise.all(Array.from({ length: 40 }, () => call(service.url, 'GET', callback({}), { headers: from })))
    const answer = await open(callback({}), from)
    expectPage(answer, 429, 'Too many attempts. Please try again in')
    expect(answer.headers.get('Retry-After')).to.match(/^\d+$/)
  })

  it('is a 503 for a prefetch, which uses up no state', async () => {
    const visitor = new Browser(service.url)
    const back = await begun(visitor)
    for (const purpose of ['prefetch', 'prefetch;prerender']) {
      const answer = await open(callback(back), { 'Sec-Purpose': purpose, cookie: cookiesOf(visitor) })
      expectPage(answer, 503, 'The service cannot do this now.')
    }
    expect((await visitor.comeBack(acme, back)).status).to.equal(204)
  })
})
