// The sign-in for apps in a real browser, with the examples of docs/apps.md and with the libraries that apps use.
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'
import * as oauth4webapi from 'oauth4webapi'
import * as oauth from 'openid-client'
import type { Page } from 'playwright-core'
import { launchBrowser, needsBrowser, type TestBrowser } from '../support/browser/browser.ts'
import { type WatchedPage, watchedPage } from '../support/browser/watched-page.ts'
import { call, goodPassword, logInByCookie, register } from '../support/http/client.ts'
import { blocksOf, projectFile, theBlock } from '../support/project/readme-blocks.ts'
import { startOpenIdProvider } from '../support/providers/openid-provider.ts'
import { appRequest, authorizePath, redeem, tokenOf } from '../support/scenes/app-sign-in.ts'
import { freePort } from '../support/servers/ports.ts'
import { startTestService, type TestService } from '../support/services/service.ts'
import { scratchFolder } from '../support/services/spawned-service.ts'

const blocks = blocksOf(projectFile('docs/apps.md'))

interface NativeApp {
  signIn(service: string, open: (address: string) => void): Promise<{ access_token: string }>
}

interface ServerApp {
  begin(config: oauth.Configuration, session: object, app: string): Promise<URL>
  finish(config: oauth.Configuration, session: object, url: URL): Promise<void>
}

/** A block of the page as a module. */
async function moduleOf<Exports>(mark: string): Promise<Exports> {
  const library = import.meta.resolve('openid-client')
  const text = theBlock(blocks, 'js', mark).replace("'openid-client'", `'${library}'`)
  const own = text.includes(library) ? text : `import * as oauth from '${library}'\n${text}`
  const file = join(scratchFolder(), `${mark}.mjs`)
  await writeFile(file, own)
  return import(pathToFileURL(file).href)
}

describe('the sign-in for apps, in a browser', () => {
  let service: TestService
  let site: Server
  let app: string
  let browser: TestBrowser
  let watched: WatchedPage
  let page: Page

  before(async function () {
    needsBrowser(this)
    site = createServer((request, response) => {
      const isScript = request.url === '/app.js'
      response.setHeader('Content-Type', isScript ? 'text/javascript' : 'text/html')
      const script = theBlock(blocks, 'js', 'browser').replace('https://accounts.example.com', service.url)
      response.end(isScript ? script : pageOfApp())
    })
    site.listen(0, '127.0.0.1')
    await once(site, 'listening')
    app = `http://127.0.0.1:${(site.address() as AddressInfo).port}` // another site than localhost
    const apps = {
      web: { redirectUris: [`${app}/callback`, 'https://app.example.org/callback'], backend: 'jwt' },
      desktop: { redirectUris: ['http://127.0.0.1/callback'], backend: 'jwt' },
      members: { redirectUris: ['https://members.example/callback'], backend: 'strict' },
    }
    const strict = { transport: { kind: 'bearer' }, strategy: { kind: 'stored' }, requiresVerification: true }
    service = await startTestService(
      { PORTCULLIS_STORES__USERS__KIND: 'memory' },
      { files: { 'portcullis.config.json': { apps, backends: { strict } } } },
    )
    browser = await launchBrowser()
  })
  after(async () => {
    await browser?.close()
    await service?.stop()
    site?.close()
  })
  beforeEach(async () => {
    watched = await watchedPage(browser, { locale: 'en-GB' })
    page = watched.page
    await page.route('https://*.example*/**', (route) => route.fulfill({ body: 'the app' }))
  })
  afterEach(async () => {
    await watched.close()
    expect(watched.complaints).to.deep.equal([])
  })

  /** The page of the app, which shows the user or the fault. */
  function pageOfApp(): string {
    return `<!doctype html><html lang="en"><title>App</title><link rel="icon" href="data:,"><button id="sign-in">Sign in</button><p id="who"></p>
<script type="module">
import { comeBack, signIn } from '/app.js'
const show = (text) => { document.querySelector('#who').textContent = text }
document.querySelector('#sign-in').onclick = signIn
if (location.pathname === '/callback') {
  comeBack()
    .then((token) => fetch('${service.url}/users/me', { headers: { Authorization: 'Bearer ' + token } }))
    .then((answer) => answer.json())
    .then(({ email }) => show(email), (fault) => show(fault.message))
}
</script></html>`
  }

  async function signUp(email: string): Promise<void> {
    await page.click('a[data-page-name="sign-up"]')
    await page.fill('#email', email)
    await page.fill('#password', goodPassword)
    await page.click('#form button:not([type])')
  }
  const emailOf = async (bearer: string) => {
    return ((await call(service.url, 'GET', '/users/me', { bearer })).body as { email?: string }).email // safe: a user
  }
  const configOf = (client: string) =>
    oauth.discovery(new URL(service.url), client, undefined, oauth.None(), {
      algorithm: 'oauth2',
      execute: [oauth.allowInsecureRequests],
    })
  /** Opens an address with a login, and answers the address that it leads to. */
  const ledTo = async (address: URL, cookie: string) => {
    const { headers } = await fetch(address, { redirect: 'manual', headers: { Cookie: cookie } })
    return new URL(headers.get('Location') ?? '')
  }

  it('gives curl a token by the lines of the page', async () => {
    await register(service.url, 'curl@example.com', 'tide-lamp-quartz')
    const lines = theBlock(blocks, 'bash', 'curl')
      .replace('http://localhost:3000', service.url)
      .replace('ada@example.com', 'curl@example.com')
    const { stdout } = await promisify(execFile)('bash', ['-euc', lines], { cwd: scratchFolder() })
    const { access_token } = JSON.parse(stdout) as { access_token: string } // safe: its use proves it
    expect(await emailOf(access_token)).to.equal('curl@example.com')
  })

  it('leads to an app on another site, which reads the account with its token', async () => {
    await page.goto(app)
    await page.click('#sign-in')
    await page.waitForURL(`${service.url}/account/sign-in?**`)
    await signUp('ada@example.com')
    await watched.says('h1', 'Continue to web')
    await watched.says('#step', 'You are signed in as ada@example.com.')
    await watched.expectAccessible('the page that leads on to an app')
    await page.click('#continue')
    await watched.says('#who', 'ada@example.com')
    expect(new URL(page.url()).search).to.equal('')

    await page.goto(app)
    await page.click('#sign-in')
    await page.click('text=Use another account')
    const hinted = new URL(page.url())
    hinted.searchParams.set('return_to', `${hinted.searchParams.get('return_to')}&login_hint=ada%40example.com`)
    await page.goto(hinted.href)
    expect(await page.inputValue('#username')).to.equal('ada@example.com')
    await page.fill('#password', goodPassword)
    await page.click('#form button:not([type])')
    await page.click('#continue')
    await watched.says('#who', 'ada@example.com')
  })

  it('signs in to a native app on loopback', async () => {
    const { signIn } = await moduleOf<NativeApp>('native')
    await page.goto(`${service.url}/account/sign-in`)
    await signUp('grace@example.com')
    await watched.says('#email', 'grace@example.com')
    const { access_token } = await signIn(service.url, (address) => {
      void page.goto(address).then(() => page.click('#continue'))
    })
    await page.getByText('You can close this page.').waitFor()
    expect(await emailOf(access_token)).to.equal('grace@example.com')
  })

  it('asks for a verified address where the app needs it, and leads on after the link', async () => {
    const verifier = oauth.randomPKCECodeVerifier()
    const redirect_uri = 'https://members.example/callback'
    const config = await configOf('members')
    const code_challenge = await oauth.calculatePKCECodeChallenge(verifier)
    const request = { redirect_uri, code_challenge, code_challenge_method: 'S256' }
    await page.goto(oauth.buildAuthorizationUrl(config, request).href)
    await signUp('alan@example.com')
    await watched.says('#step', 'members needs a verified address.')
    await watched.expectAccessible('the page that asks for a verified address')
    await page.click('#resend')
    const { token } = await service.event(({ event }) => event === 'on_after_request_verify')
    await page.goto(`${service.url}/account/verify#token=${token}`)
    await page.click('#confirm')
    await page.getByRole('link', { name: 'Continue' }).click()
    await page.waitForURL(`${redirect_uri}?**`)
    const { access_token } = await oauth.authorizationCodeGrant(config, new URL(page.url()), {
      pkceCodeVerifier: verifier,
    })
    expect(await emailOf(access_token)).to.equal('alan@example.com')
  })

  it('signs in to a server-rendered app with openid-client', async () => {
    const { begin, finish } = await moduleOf<ServerApp>('server')
    const { email } = await register(service.url, 'mary@example.com')
    const cookie = await logInByCookie(service.url, email)
    const [config, session] = [await configOf('web'), {} as { token?: string }]
    const back = await ledTo(await begin(config, session, 'https://app.example.org'), cookie)
    await finish(config, session, back)
    expect(await emailOf(session.token ?? '')).to.equal(email)
    await begin(config, session, 'https://app.example.org')
    const stolen = await finish(config, session, back).catch((fault: unknown) => fault)
    expect(stolen).to.be.instanceOf(Error)
  })

  it('signs in with oauth4webapi, which refuses the answer of another issuer', async () => {
    const { email } = await register(service.url, 'jean@example.com')
    const cookie = await logInByCookie(service.url, email)
    const insecure = { [oauth4webapi.allowInsecureRequests]: true }
    const issuer = new URL(service.url)
    const found = await oauth4webapi.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure })
    const server = await oauth4webapi.processDiscoveryResponse(issuer, found)
    const client = { client_id: 'web' }
    const redirect_uri = 'https://app.example.org/callback'
    const verifier = oauth4webapi.generateRandomCodeVerifier()
    const state = oauth4webapi.generateRandomState()
    const address = new URL(server.authorization_endpoint ?? '')
    const code_challenge = await oauth4webapi.calculatePKCECodeChallenge(verifier)
    const request = {
      response_type: 'code',
      ...client,
      redirect_uri,
      state,
      code_challenge,
      code_challenge_method: 'S256',
    }
    address.search = String(new URLSearchParams(request))
    const back = await ledTo(address, cookie)
    const given = oauth4webapi.validateAuthResponse(server, client, back, state)
    const redeemed = await oauth4webapi.authorizationCodeGrantRequest(
      server,
      client,
      oauth4webapi.None(),
      given,
      redirect_uri,
      verifier,
      insecure,
    )
    const { access_token } = await oauth4webapi.processAuthorizationCodeResponse(server, client, redeemed)
    expect(await emailOf(access_token)).to.equal(email)
    back.searchParams.set('iss', 'https://evil.example')
    expect(() => oauth4webapi.validateAuthResponse(server, client, back, state)).to.throw()
  })

  it('leads through a provider and back to the app, below the path of a tenant', async () => {
    const port = await freePort()
    const redirectUris = [`http://localhost:${port}/t/acme/auth/idp/callback`]
    const client = { clientId: 'portcullis', clientSecret: 'secret-of-idp', redirectUris }
    const provider = await startOpenIdProvider([client])
    provider.asks = true
    provider.user = { sub: 'ada', email: 'ada@idp.example', email_verified: true }
    const { issuer } = provider
    const idp = { kind: 'openid-connect', issuer, clientId: client.clientId, clientSecret: client.clientSecret }
    const settings = {
      tenants: { by: 'path', list: { acme: {} } },
      apps: { web: { redirectUris: [`${app}/callback`], backend: 'jwt' } },
      providers: { idp: { ...idp, backend: 'cookie' } },
    }
    const tenants = await startTestService(
      { PORTCULLIS_STORES__USERS__KIND: 'memory', PORTCULLIS_HTTP__PORT: String(port) },
      { files: { 'portcullis.config.json': settings } },
    )
    try {
      const url = tenants.urlOf('acme')
      const request = appRequest('web', `${app}/callback`)
      await page.goto(url + authorizePath(request))
      await page.click('#with-idp')
      await page.getByRole('link', { name: 'Continue' }).click()
      await watched.says('#step', 'You are signed in as ada@idp.example.')
      await page.route(`${app}/callback?**`, (route) => route.fulfill({ body: 'the app' }))
      await page.click('#continue')
      await page.waitForURL(`${app}/callback?**`)
      const code = new URL(page.url()).searchParams.get('code') ?? ''
      const bearer = tokenOf(await redeem(url, code, request))
      expect((await call(url, 'GET', '/users/me', { bearer })).body).to.include({ email: 'ada@idp.example' })
    } finally {
      await tenants.stop()
      await provider.close()
    }
  })
})
