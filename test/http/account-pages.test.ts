import { createHash } from 'node:crypto'
import { expect } from 'chai'
import { eventually } from '../support/eventually.ts'
import { call, logInByCookie, register } from '../support/http/client.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

/** The variables of a provider with this name. */
function provider(name: string, options: Readonly<Record<string, string>>): Record<string, string> {
  const given = { CLIENT_ID: 'us', CLIENT_SECRET: 'a secret', BACKEND: 'cookie', ...options }
  const prefix = `PORTCULLIS_PROVIDERS__${name.toUpperCase()}__`
  return Object.fromEntries(Object.entries(given).map(([option, value]) => [prefix + option, value]))
}

const token = 'Abc-_'.padEnd(43, '9')

describe('the pages at /account', () => {
  let service: TestService
  before(async () => {
    service = await startTestService({
      PORTCULLIS_STORES__USERS__KIND: 'memory',
      PORTCULLIS_LOGS__REQUESTS: 'all',
      PORTCULLIS_PAGES__CONTACT: 'help@example.com',
      ...provider('github', { KIND: 'github' }),
      ...provider('staff', { KIND: 'microsoft', LABEL: 'Example "Staff"' }),
      ...provider('acme', { KIND: 'openid-connect', ISSUER: 'https://id.example', ICON: 'https://img.example/a.svg' }),
      ...provider('own', { KIND: 'openid-connect', ISSUER: 'https://id.example', ICON: '/icons/own.svg' }),
    })
  })
  after(() => service?.stop())

  const get = (path: string) => fetch(`${service.url}${path}`, { redirect: 'manual' })
  const wayOf = async (path: string) => {
    const { status, headers } = await get(path)
    return [status, headers.get('Location')]
  }

  it('know the label and the icon of each provider', async () => {
    const page = await (await get('/account/sign-in')).text()
    const data = JSON.parse((/data-page="([^"]*)"/.exec(page)?.[1] ?? '').replaceAll('&quot;', '"'))
    const shown = data.providers.map(({ name, label, icon }: Record<string, unknown>) => [name, label, icon])
    expect(shown).to.deep.equal([
      ['github', 'GitHub', '/account/providers/github.svg'],
      ['staff', 'Example "Staff"', '/account/providers/microsoft.svg'],
      ['acme', 'Acme', 'https://img.example/a.svg'],
      ['own', 'Own', '/icons/own.svg'],
    ])
    const texts = [...page.matchAll(/<button[^>]* id="with-\w+"[^>]*>(.*?)<\/button>/gs)].map(([, text = '']) => text)
    expect(texts.join()).to.include('GitHub').and.include('Example &quot;Staff&quot;')
    for (const icon of ['/account/providers/github.svg', 'https://img.example/a.svg', '/icons/own.svg']) {
      expect(texts.join()).to.include(`<img class="icon" src="${icon}" alt="">`)
    }
  })

  it('name the address for questions beside the operator, in each language', async () => {
    for (const [language, words] of [
      ['en', 'the operator of this service (help@example.com)'],
      ['de', 'Betreiber dieses Dienstes (help@example.com)'],
    ] as const) {
      const headers = { 'Accept-Language': language, Accept: 'text/html' }
      const page = await fetch(`${service.url}/account/sign-in`, { headers })
      expect(await page.text()).to.include(words)
    }
  })

  it('load images of their own origin, and of hosts that an icon in the settings names', async () => {
    const icon = await get('/account/providers/microsoft.svg')
    expect([icon.status, icon.headers.get('Content-Type')]).to.deep.equal([200, 'image/svg+xml'])
    expect(await icon.text()).to.match(/^<svg [^<]+<rect /)
    expect((await get('/account/providers/google.svg')).status).to.equal(404)
    const policy = (await get('/account')).headers.get('Content-Security-Policy')
    expect(policy).to.include("; img-src 'self' https://img.example;")
  })

  it('have files that browsers keep, under the version of their content', async () => {
    const pages = [await get('/account/sign-in'), await get('/admin')]
    const markup = (await Promise.all(pages.map((page) => page.text()))).join('\n')
    const found = markup.matchAll(/(?:src|href)="(\/(?:account\/(?:sign-in|style)|admin\/\w+)\.[^"]+)"/g)
    const files = [...found].map(([, path = '']) => path)
    expect(files).to.have.length(4)
    for (const path of files) {
      const kept = await get(path)
      expect([kept.status, kept.headers.get('Cache-Control')]).to.deep.equal([
        200,
        'public, max-age=31536000, immutable',
      ])
      const content = Buffer.from(await kept.arrayBuffer())
      expect(path).to.include(createHash('sha256').update(content).digest('base64url').slice(0, 12))
      // During an upgrade, another process asks for its own version.
      const other = await get(path.replace(/\.[\w-]{12}\./, '.of-another-one.'))
      expect([other.status, other.headers.get('Cache-Control')]).to.deep.equal([200, 'no-store'])
    }
    expect((await get('/account/sign-in')).headers.get('Cache-Control')).to.equal('no-store')
    const missing = await get('/account/nothing.000000000000.js')
    expect([missing.status, missing.headers.get('Cache-Control')]).to.deep.equal([404, 'no-store'])
  })

  it('are named Portcullis on loopback, until a setting names them', async () => {
    const page = async (url: string, language: string) => {
      return (await fetch(`${url}/account/sign-in`, { headers: { 'Accept-Language': language } })).text()
    }
    for (const language of ['en', 'de']) {
      const text = await page(service.url, language)
      expect(text)
        .to.include('<span>Portcullis</span>')
        .and.match(/<footer><p class="hint">.*pages\.name/)
    }
    const memory = { PORTCULLIS_STORES__USERS__KIND: 'memory', PORTCULLIS_PAGES__ENABLED: 'true' }
    for (const [env, name] of [
      [{ PORTCULLIS_PAGES__NAME: 'Example' }, 'Example'],
      [{ PORTCULLIS_HTTP__PUBLIC_URL: 'https://accounts.example.com' }, 'accounts.example.com'],
    ] as const) {
      const other = await startTestService({ ...memory, ...env })
      try {
        const text = await page(other.url, 'en')
        expect(text).to.include(`<span>${name}</span>`).and.not.include('<footer>')
      } finally {
        await other.stop()
      }
    }
  })

  it('have inputs for the own fields that the user writes, and no trace of private ones', async () => {
    const page = async (fields: object) => {
      const env = { PORTCULLIS_STORES__USERS__KIND: 'memory', PORTCULLIS_PAGES__ENABLED: 'true' }
      const other = await startTestService(env, { files: { 'portcullis.config.json': { users: { fields } } } })
      const text = await (await fetch(`${other.url}/account`)).text()
      await other.stop()
      return text
    }
    const text = { type: 'string' }
    const secret = { ...text, private: true, title: { en: 'Secret' } }
    const hidden = { hidden_a: secret, hidden_b: { ...secret, readOnly: true } }
    const title = { en: 'I accept the [<b>terms</b>](https://a.example/t?a=1&b=2) and the [rules](/rules)' }
    const terms = { type: 'boolean', enum: [true], title }
    const all = await page({ city: text, terms, plan: { ...text, readOnly: true }, ...hidden })
    expect([...all.matchAll(/data-field="(\w+)"/g)].map(([, name]) => name)).to.deep.equal(['city', 'terms'])
    expect([...all.matchAll(/data-shown="(\w+)"/g)].map(([, name]) => name)).to.deep.equal(['plan'])
    const tab = 'target="_blank" rel="noopener"'
    expect(all).to.include(
      `>I accept the <a href="https://a.example/t?a=1&amp;b=2" ${tab}>&lt;b&gt;terms&lt;/b&gt;</a> and the <a href="/rules" ${tab}>rules</a></label>`,
    )
    expect(all).to.not.match(/Secret|hidden_/)
    expect(await page(hidden)).to.not.include('details-heading')
  })

  it('tell only the user whether there is a password', async () => {
    const path = '/account/password/check'
    const { email } = await register(service.url, 'ada@example.com')
    const { status, body } = await call(service.url, 'GET', path, { cookie: await logInByCookie(service.url, email) })
    expect([status, body]).to.deep.equal([200, { is_set: true, may_be_random: false }])
    expect((await call(service.url, 'GET', path)).status).to.equal(401)
  })

  it('share no window with a page of another origin that opened them', async () => {
    for (const path of ['/', '/account', '/account/sign-in', '/account/reset', '/docs', '/try']) {
      expect((await get(path)).headers.get('Cross-Origin-Opener-Policy'), path).to.equal('same-origin')
    }
  })

  it('are found by password managers that change a password', async () => {
    const change = '/.well-known/change-password'
    expect(await wayOf(change)).to.deep.equal([303, `${service.url}/account/password`])
    expect((await get(`${change}-not`)).status).to.equal(404)
  })

  for (const page of ['reset', 'verify']) {
    for (const mark of ['%23', '%2523']) {
      it(`read the token of /account/${page}${mark}token=…, and do not log it`, async () => {
        const link = `${service.url}/account/${page}#token=${token}`
        for (const end of [`token=${token}`, `token%3D${token}.`, `token=3D${token}%3E`]) {
          const [status, way] = await wayOf(`/account/${page}${mark}${end}`)
          expect([status, way], end).to.deep.equal([303, link])
        }
        const unreadable = [303, `${service.url}/account/${page}`]
        for (const end of ['', 'token=cut-off', '%E0%A4%A']) {
          expect(await wayOf(`/account/${page}${mark}${end}`), end).to.deep.equal(unreadable)
        }
        const route = `/account/${page}${mark}`
        await eventually('the lines in the log', () => service.logLines.some((line) => line.includes(`"${route}"`)))
        expect(service.logLines.join('')).to.not.include(token)
      })
    }
  }
})
