// No request decides where a browser is sent: RFC 9700 section 4.11, CVE-2024-56734, CVE-2025-54420.
import { expect } from 'chai'
import type { Answer } from '../support/http/client.ts'
import { rawCall } from '../support/http/raw-request.ts'
import { aPerson } from '../support/providers/acme.ts'
import { AcmeSite } from '../support/providers/acme-site.ts'
import { startTestService } from '../support/services/service.ts'

const origin = 'https://accounts.example'
const success = 'https://accounts.example/welcome'
const failure = 'https://accounts.example/sorry'
const evil = 'evil.example'

const targets = [
  `//${evil}`,
  `/\\${evil}`,
  `/\t/${evil}`,
  `/%09/${evil}`,
  `%2f%2f${evil}`,
  `https:${evil}`,
  `https://${evil}`,
  `https://accounts.example@${evil}`,
  `https://accounts.example.${evil}`,
  `https://${evil}#accounts.example`,
  `${success}/../../${evil}`,
  'https://аccounts.example',
  'https://[::ffff:127.0.0.1]/',
  'javascript:alert(1)',
  'data:text/html,<script>alert(1)</script>',
  `/welcome\r\nLocation: https://${evil}`,
  `x\r\nSet-Cookie: __Host-session=1`,
]
const parameters = ['redirect_uri', 'redirect_to', 'next', 'callbackURL', 'returnTo', 'url', 'RelayState']
const headerNames = ['Referer', 'Forwarded', 'X-Forwarded-Host', 'X-Forwarded-Prefix', 'X-Original-URL']

describe('an address of an attacker', () => {
  let site: AcmeSite
  before(async () => {
    site = await AcmeSite.start(
      { BACKEND: 'cookie', REDIRECTS__SUCCESS: success, REDIRECTS__FAILURE: failure },
      { PORTCULLIS_STORES__USERS__KIND: 'memory', PORTCULLIS_HTTP__PUBLIC_URL: origin },
    )
  })
  after(() => site?.stop())

  /** Asks with the target in every parameter, and in every header that can carry it. */
  function ask(path: string, target: string, more: Readonly<Record<string, string>> = {}, cookie?: string) {
    const query = new URLSearchParams({ ...Object.fromEntries(parameters.map((name) => [name, target])), ...more })
    const names = /^[\x20-\x7e]+$/.test(target) ? headerNames : []
    const headers = names.map((name): [string, string] => [name, target])
    // A page of another origin cannot begin a journey at all.
    if (names.length > 0 && !path.endsWith('/authorize')) headers.push(['Origin', target])
    if (cookie !== undefined) headers.push(['Cookie', cookie])
    return rawCall(site.service.url, { method: 'GET', path: `${path}?${query}`, host: evil, headers })
  }
  const redirectUriOf = ({ body }: Answer): string | null =>
    new URL((body as { authorization_url: string }).authorization_url).searchParams.get('redirect_uri') // safe: 200

  it('does not change where the provider sends the browser', async () => {
    for (const target of targets) {
      expect(redirectUriOf(await ask('/auth/acme/authorize', target)), target).to.equal(`${origin}/auth/acme/callback`)
    }
  })

  it('does not change where a refused callback redirects to', async () => {
    const pages = ['OAUTH_INVALID_STATE', 'Bad Request'].map((error) => `${failure}?${new URLSearchParams({ error })}`)
    for (const target of targets) {
      for (const name of ['code', 'state', 'error', 'iss']) {
        const { status, headers } = await ask('/auth/acme/callback', target, { code: 'x', state: 'y', [name]: target })
        expect(status, target).to.equal(303)
        expect(headers.get('Location'), target).to.be.oneOf(pages)
        expect(headers.getSetCookie().join(), target).to.not.match(/evil\.example|__Host-session/)
      }
    }
  })

  it('does not change where a login redirects to', async () => {
    const person = aPerson()
    for (const target of targets) {
      const browser = site.browser()
      const back = site.acme.approve(await browser.begin(site.acme), person)
      const [cookie] = [...browser.jar].map((pair) => pair.join('='))
      const { status, headers } = await ask('/auth/acme/callback', target, { ...back, iss: target }, cookie)
      expect([status, headers.get('Location')], target).to.deep.equal([303, success])
      expect(site.acme.exchanges().at(-1)?.form.get('redirect_uri')).to.equal(`${origin}/auth/acme/callback`)
    }
  })

  it('is refused in the settings of the redirects', async () => {
    for (const url of [`https://${evil}/`, 'javascript:alert(1)', `${origin}.${evil}/`, `${origin}@${evil}/`]) {
      const env = { PORTCULLIS_STORES__USERS__KIND: 'memory', PORTCULLIS_HTTP__PUBLIC_URL: origin }
      const starting = startTestService({ ...env, ...site.acme.env({ REDIRECT_URL: url }) })
      const isStarted = await starting.then(
        (started) => started.stop().then(() => true),
        () => false,
      )
      expect(isStarted, url).to.equal(false)
    }
  })
})
