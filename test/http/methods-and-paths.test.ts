import { expect } from 'chai'
import { anAddress, empty, forbidden, notFound, refused, seen } from '../support/http/answers.ts'
import { call, logIn, register } from '../support/http/client.ts'
import { callAt, rawCall } from '../support/http/raw-request.ts'
import { exchangeUntilClosed } from '../support/http/sockets.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'QUERY']
const nobody = '01890000-0000-7000-8000-000000000000'
const notAllowed = refused(405, 'Method Not Allowed')

describe('methods and paths', () => {
  let service: TestService
  let bearer: string
  before(async () => {
    service = await startTestService({ PORTCULLIS_STORES__USERS__KIND: 'memory' })
    const { email } = await register(service.url, anAddress())
    bearer = await logIn(service.url, email)
  })
  after(() => service.stop())

  it('answers 400 to HTTP/1.1 without a host, and accepts HTTP/1.0 without one', async () => {
    const answer = await exchangeUntilClosed(service.url, 'GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n')
    expect(answer)
      .to.match(/^HTTP\/1.1 400 /)
      .and.to.include('{"detail":"Bad Request"}')
    expect(await exchangeUntilClosed(service.url, 'GET /healthz HTTP/1.0\r\n\r\n')).to.match(/^HTTP\/1.1 200 /)
  })

  it('answers 400 to two hosts and to a malformed host', async () => {
    const answerTo = (hosts: readonly string[], version = '1.1') => {
      const lines = hosts.map((host) => `hOst: ${host}\r\n`).join('')
      return exchangeUntilClosed(service.url, `GET /healthz HTTP/${version}\r\n${lines}Connection: close\r\n\r\n`)
    }
    for (const host of ['', 'a', 'a_b.example:80', '[::1]:3000', 'x%20y']) {
      expect(await answerTo([host]), host).to.match(/^HTTP\/1.1 200 /)
    }
    for (const host of ['a b', 'a/b', 'u@h', 'a:b', '[::1', '::1', 'a#b', 'ü']) {
      expect(await answerTo([host]), host).to.match(/^HTTP\/1.1 400 /)
    }
    expect(await answerTo(['a', 'b'])).to.match(/^HTTP\/1.1 400 /)
    expect(await answerTo(['a', 'a'], '1.0')).to.match(/^HTTP\/1.1 400 /)
  })

  it('answers 501 to transfer codings other than chunked', async () => {
    const answerTo = (coding: string) => {
      const body = '{"email":"a@example.com"}'
      const lines = [
        'POST /auth/forgot-password HTTP/1.1',
        'Host: x',
        `Transfer-Encoding: ${coding}`,
        'Content-Type: application/json',
        'Connection: close',
      ]
      const chunks = [body.length.toString(16), body, '0']
      return exchangeUntilClosed(service.url, [...lines, '', ...chunks, '', ''].join('\r\n'))
    }
    expect(await answerTo('Chunked')).to.match(/^HTTP\/1.1 202 /)
    for (const coding of ['gzip, chunked', 'identity, chunked']) {
      expect(await answerTo(coding), coding)
        .to.match(/^HTTP\/1.1 501 /)
        .and.to.include('"Not Implemented"')
    }
  })

  it('answers 400 to a coding in HTTP/1.0, and reads no later bytes', async () => {
    const head = 'POST /auth/forgot-password HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n'
    const answer = await exchangeUntilClosed(service.url, `${head}0\r\n\r\nGET /healthz HTTP/1.0\r\n\r\n`)
    expect(answer)
      .to.match(/^HTTP\/1.1 400 /)
      .and.to.include('Connection: close')
      .and.not.to.include('alive"')
  })

  it('answers 400 to a malformed target, and logs no fault', async () => {
    for (const target of ['http://[', 'http://xn--/']) {
      const request = `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`
      expect(await exchangeUntilClosed(service.url, request)).to.match(/^HTTP\/1.1 400 /)
    }
    expect(service.logLines.filter((line) => /request failed|service unavailable/.test(line))).to.deep.equal([])
  })

  const ask = (method: string, path: string, headers: readonly (readonly [string, string])[] = []) =>
    rawCall(service.url, { method, path, headers })

  it('answers 405 to every method that a path does not have, with the others in Allow', async () => {
    const { body } = await call(service.url, 'GET', '/openapi.json')
    const described = Object.entries((body as { paths: Record<string, object> }).paths) // safe: OpenAPI
    for (const path of [...described.map(([path]) => path.replace('{user_id}', nobody)), '/docs']) {
      // `/users/me` is a path of its own, and one of a user id.
      const same = described.filter(([one]) => new RegExp(`^${one.replace('{user_id}', '[^/]+')}$`).test(path))
      const names = same.flatMap(([, operations]) => Object.keys(operations).map((name) => name.toUpperCase()))
      const head = ['/docs', '/healthz', '/readyz'].includes(path) ? ['GET', 'HEAD'] : []
      const allowed = [...new Set([...names, ...head])].sort()
      for (const method of methods.filter((one) => !allowed.includes(one))) {
        const answer = await ask(method, path)
        expect(seen(answer), `${method} ${path}`).to.deep.equal(method === 'HEAD' ? empty(405) : notAllowed)
        expect(answer.headers.get('Allow'), path).to.equal(allowed.join(', '))
      }
      for (const method of allowed) expect((await ask(method, path)).status, path).to.not.be.oneOf([404, 405])
    }
  })

  it('runs nothing for HEAD, and sends the Content-Length of other methods', async () => {
    for (const path of ['/users/me', '/users/me/sessions', '/nothing']) {
      const head = await ask('HEAD', path, [['Authorization', `Bearer ${bearer}`]])
      expect(seen(head)).to.deep.equal(empty(path === '/nothing' ? 404 : 405))
      const put = await ask('PUT', path)
      expect(head.headers.get('Content-Length')).to.equal(put.headers.get('Content-Length'))
    }
  })

  it('answers HEAD like GET, without the body, for health, documents and pages', async () => {
    const pages = ['/', '/account', '/account/sign-in', '/account/style.0.css', '/try']
    for (const path of ['/healthz', '/readyz', '/openapi.json', '/docs', '/docs/start.js', ...pages]) {
      const { host } = new URL(service.url)
      const [head, get] = [await callAt(service.url, host, 'HEAD', path), await callAt(service.url, host, 'GET', path)]
      expect(head.status, path).to.be.oneOf([200, 303])
      expect(seen(head), path).to.deep.equal(empty(get.status))
      const headers = ({ headers }: typeof head) =>
        [...headers].filter(([name]) => !['date', 'x-request-id', 'connection', 'keep-alive'].includes(name))
      expect(headers(head), path).to.deep.equal(headers(get))
    }
  })

  it('answers 404 for unknown paths with every method', async () => {
    for (const path of [
      '/auth',
      '/auth/nothing/login',
      '/users/',
      '/users/me/',
      '//users/me',
      '/Users/me',
      '/auth/register/',
      '/auth/register%00',
      '/auth/%72egister',
      '/users%2fme',
      '/auth/jwt/..%2flogin',
      '/users/../users/me',
      '/users\\me',
      '/docs/../docs',
      '/docs/package.json',
      '/docs/..%2fpackage.json',
      '/__proto__',
      '/.env',
    ]) {
      for (const method of ['GET', 'POST', 'OPTIONS', 'DELETE']) {
        const answer = await ask(method, path, [['Authorization', `Bearer ${bearer}`]])
        expect(seen(answer), `${method} ${path}`).to.deep.equal(notFound)
        expect(answer.headers.get('Allow')).to.equal(null)
      }
    }
    expect(seen(await ask('OPTIONS', '*'))).to.deep.equal(notFound)
  })

  it('reads any segment below /users/ as an id: `%6de` is not `me`', async () => {
    for (const id of ['%6de', 'Me', 'me;x', 'me%20', 'me%00', '%', '%ff']) {
      const answer = await ask('GET', `/users/${id}`, [['Authorization', `Bearer ${bearer}`]])
      expect(seen(answer), id).to.deep.equal(forbidden)
    }
  })

  it('ignores an unexpected query, and headers and fields that name another method', async () => {
    const authorization = ['Authorization', `Bearer ${bearer}`] as const
    expect((await ask('GET', '/users/me?id=1&id=2&%00', [authorization])).status).to.equal(200)
    const override = ['X-HTTP-Method-Override', 'GET'] as const
    expect(seen(await ask('POST', '/users/me?_method=GET', [authorization, override]))).to.deep.equal(notAllowed)
  })
})

describe('paths by settings', () => {
  it('follow the settings, and a disabled router has none', async () => {
    const service = await startTestService({
      PORTCULLIS_STORES__USERS__KIND: 'memory',
      PORTCULLIS_ROUTERS__USERS__PREFIX: '/api/people',
      PORTCULLIS_ROUTERS__VERIFY__ENABLED: 'false',
      PORTCULLIS_ROUTERS__RESET_PASSWORD__PREFIX: '/forgotten',
      PORTCULLIS_BACKENDS__COOKIE__ENABLED: 'false',
      PORTCULLIS_BACKENDS__JWT__PREFIX: '/session',
      PORTCULLIS_DOCS__ENABLED: 'false',
    })
    try {
      const status = async (method: string, path: string) => (await rawCall(service.url, { method, path })).status
      expect(await status('GET', '/api/people/me')).to.equal(401)
      expect(await status('POST', '/forgotten/reset-password')).to.equal(422)
      expect(await status('POST', '/session/login')).to.equal(422)
      for (const [method, path] of [
        ['GET', '/users/me'],
        ['POST', '/auth/verify'],
        ['POST', '/auth/request-verify-token'],
        ['POST', '/auth/forgot-password'],
        ['POST', '/auth/jwt/login'],
        ['POST', '/auth/cookie/login'],
        ['GET', '/docs'],
        ['GET', '/docs/swagger-ui.css'],
        ['GET', '/openapi.json'],
      ] as const) {
        expect(await status(method, path), path).to.equal(404)
      }
    } finally {
      await service.stop()
    }
  })
})
