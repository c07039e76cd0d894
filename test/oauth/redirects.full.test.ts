// Nobody who asks decides where a browser is sent: RFC 9700 section 4.11, CVE-2024-56734, CVE-2025-54420.
import { request } from 'node:http'
import { expect } from 'chai'
import { type Acme, aPerson, startAcme } from '../support/acme.ts'
import { Browser } from '../support/oauth-browser.ts'
import { startTestService, type TestService } from '../support/service.ts'

const origin = 'https://accounts.example'
const success = 'https://accounts.example/welcome'
const failure = 'https://accounts.example/sorry'
const evil = 'evil.example'

const schemes = [
  '//',
  '///',
  '////',
  '/\\',
  '\\\\',
  '\\/',
  '/\t/',
  '\t//',
  '\n//',
  '\r\n//',
  ' //',
  '/%09/',
  '/%2f',
  '%2f%2f',
  '/.//',
  '/..//',
  'https:',
  'https:/',
  'https://',
  'http://',
  'HTTPS://',
  'https:\\\\',
  'ftp://',
  'ws://',
  'file://',
  '//\u0000',
  '/%5c',
  '/\u2028/',
  '〱',
]
const hosts = [
  evil,
  `accounts.example@${evil}`,
  `accounts.example.${evil}`,
  `${evil}#accounts.example`,
  `${evil}?accounts.example`,
]
const others = [
  'javascript:alert(1)',
  'JaVaScRiPt:alert(1)',
  'java\tscript:alert(1)',
  'data:text/html,<script>alert(1)</script>',
  'vbscript:msgbox(1)',
  'blob:https://evil.example/1',
  'https://xn--accunts-exmple-1pb.example',
  'https://аccounts.example',
  'https://accounts。example.evil.example',
  'https://2130706433/',
  'https://[::ffff:127.0.0.1]/',
  `${success}/../../${evil}`,
  `/welcome\r\nLocation: https://${evil}`,
  `/welcome%0d%0aLocation:%20https://${evil}`,
  `x\r\nSet-Cookie: __Host-session=1`,
]
const payloads = [...new Set([...schemes.flatMap((scheme) => hosts.map((host) => `${scheme}${host}`)), ...others])]

const names = [
  'redirect_uri',
  'redirect',
  'redirect_to',
  'next',
  'callbackURL',
  'returnTo',
  'return_to',
  'url',
  'RelayState',
]
const headerNames = [
  'Host',
  'Referer',
  'Origin',
  'Forwarded',
  'X-Forwarded-Host',
  'X-Forwarded-Proto',
  'X-Forwarded-Prefix',
  'X-Original-URL',
  'X-Rewrite-URL',
  'X-Host',
]

interface Got {
  readonly status: number
  readonly headers: NodeJS.Dict<string | string[]>
  readonly text: string
}

describe(`${payloads.length} addresses of somebody else`, () => {
  let acme: Acme
  let service: TestService

  before(async () => {
    acme = await startAcme()
    service = await startTestService({
      PORTCULLIS_STORES__USERS__KIND: 'memory',
      PORTCULLIS_HTTP__PUBLIC_URL: origin,
      ...acme.env({ BACKEND: 'cookie', REDIRECTS__SUCCESS: success, REDIRECTS__FAILURE: failure }),
    })
  })
  after(async () => {
    await service?.stop()
    await acme?.close()
  })

  /** By node:http, since fetch sends no Host of one's own; what no header can carry goes without. */
  function get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Got> {
    return new Promise((resolve, reject) => {
      const sent = request(`${service.url}${path}`, { headers, agent: false }, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString()
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text })
        })
      })
      sent.on('error', reject)
      sent.end()
    })
  }
  const isHeader = (payload: string) => /^[\x20-\x7e]+$/.test(payload)
  const isHost = (payload: string) => /^[\w.~!$&'()*+,;=%-]*(:\d*)?$/.test(payload)
  const carried = (payload: string): Record<string, string> =>
    isHeader(payload)
      ? Object.fromEntries(headerNames.flatMap((name) => (name !== 'Host' || isHost(payload) ? [[name, payload]] : [])))
      : {}
  const everywhere = (payload: string, more: Readonly<Record<string, string>> = {}) =>
    new URLSearchParams({ ...Object.fromEntries(names.map((name) => [name, payload])), ...more })
  const redirectOf = ({ text }: Got): string | null =>
    new URL((JSON.parse(text) as { authorization_url: string }).authorization_url).searchParams.get('redirect_uri')

  it('are at least 150', () => {
    expect(payloads).to.have.length.of.at.least(150)
  })

  it('change nothing of where the provider sends the browser', async () => {
    for (const payload of payloads) {
      const answer = await get(`/auth/acme/authorize?${everywhere(payload)}`, carried(payload))
      expect(answer.status, payload).to.equal(200)
      expect(redirectOf(answer), payload).to.equal(`${origin}/auth/acme/callback`)
    }
  })

  it('are no hosts, unless they have the form of one', async () => {
    for (const payload of payloads.filter((one) => isHeader(one) && !isHost(one))) {
      const answer = await get('/auth/acme/authorize', { Host: payload })
      expect([answer.status, answer.text], payload).to.deep.equal([400, '{"detail":"Bad Request"}'])
    }
  })

  it('are no scopes', async () => {
    for (const payload of payloads) {
      const answer = await get(`/auth/acme/authorize?${new URLSearchParams({ scopes: payload })}`)
      expect([answer.status, answer.text], payload).to.deep.equal([400, '{"detail":"OAUTH_SCOPE_NOT_ALLOWED"}'])
    }
  })

  it('lead a refused callback to its own page alone', async () => {
    const pages = ['OAUTH_INVALID_STATE', 'Bad Request'].map((error) => `${failure}?${new URLSearchParams({ error })}`)
    for (const payload of payloads) {
      for (const name of ['code', 'state', 'error', 'iss']) {
        const query = everywhere(payload, { code: 'x', state: 'y', [name]: payload })
        const { status, headers, text } = await get(`/auth/acme/callback?${query}`, carried(payload))
        expect([status, text], payload).to.deep.equal([303, ''])
        expect(headers.location, payload).to.be.oneOf(pages)
        expect(JSON.stringify(headers), payload).to.not.include(evil)
        expect(JSON.stringify(headers)).to.not.match(/__Host-session/)
      }
    }
  })

  it('have no cookie to remove when they come without a journey', async () => {
    const { status, headers } = await get('/auth/acme/callback?code=x')
    expect([status, headers['set-cookie']]).to.deep.equal([303, undefined])
  })

  it('lead a login to its own page alone', async () => {
    const person = aPerson()
    for (const payload of payloads) {
      const browser = new Browser(service.url)
      const back = acme.approve(await browser.begin(acme), person)
      const [[name = '', value = ''] = []] = browser.jar
      const query = everywhere(payload, { ...back, iss: payload })
      const headers = { ...carried(payload), Cookie: `${name}=${value}` }
      const answer = await get(`/auth/acme/callback?${query}`, headers)
      expect([answer.status, answer.headers.location], payload).to.deep.equal([303, success])
      expect(acme.exchanges().at(-1)?.form.get('redirect_uri')).to.equal(`${origin}/auth/acme/callback`)
    }
  })

  it('are refused by the settings as pages of a front end, unless they are ours', async () => {
    for (const url of [
      `https://${evil}/`,
      'javascript:alert(1)',
      `${origin}.${evil}/`,
      `${origin}@${evil}/`,
      '//x.example',
    ]) {
      const env = { PORTCULLIS_HTTP__PUBLIC_URL: origin, ...acme.env({ REDIRECT_URL: url }) }
      const started = await startTestService({ PORTCULLIS_STORES__USERS__KIND: 'memory', ...env }).then(
        async (started) => {
          await started.stop()
          return true
        },
        () => false,
      )
      expect(started, url).to.equal(false)
    }
  })
})
