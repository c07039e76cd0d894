import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { createServer as createTlsServer, type Server as TlsServer } from 'node:tls'
import { expect } from 'chai'
import { oauth2Kind } from '../../../src/adapters/oauth/oauth2.ts'
import { openIdConnectKind } from '../../../src/adapters/oauth/openid-connect-kind.ts'
import { openOutbound } from '../../../src/adapters/oauth/outbound.ts'
import { outboundProxy } from '../../../src/config/composition/outbound-proxy.ts'
import { inTime } from '../../support/in-time.ts'
import { fakeIssuer } from '../../support/providers/fake-issuer.ts'
import { type FakeProvider, startFakeProvider } from '../../support/providers/fake-provider.ts'
import { type Certificate, newCertificate } from '../../support/servers/certificate.ts'
import { listen } from '../../support/servers/ports.ts'
import { spawnService } from '../../support/services/spawned-service.ts'
import { aJourney, failureOf, signIn } from './scene.ts'

const issuer = 'https://id.example'
const client = { clientId: 'us', clientSecret: 'secret', scopes: ['email'] }
const clock = () => new Date()

/** A proxy with CONNECT that leads every name to `port`, for names that only the proxy can resolve. */
function startProxy(port: number) {
  const asked: { target: string; credentials: string | undefined }[] = []
  const sockets = new Set<Socket>()
  const it = { asked, status: 200, hangs: false }
  const server: Server = createServer((_request, response) => void response.writeHead(405).end())
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
  })
  server.on('connect', ({ url = '', headers }, socket) => {
    asked.push({ target: url, credentials: headers['proxy-authorization'] })
    if (it.hangs) return
    socket.write(`HTTP/1.1 ${it.status} Proxy\r\n\r\n`)
    if (it.status !== 200) return void socket.end()
    const onward = connect(port, '127.0.0.1').on('error', () => socket.destroy())
    onward.pipe(socket).pipe(onward)
  })
  const close = () => {
    server.close()
    for (const socket of sockets) socket.destroy()
  }
  return { it, server, close }
}

describe('requests to providers through a proxy', () => {
  let certificate: Certificate
  let fake: FakeProvider
  let tls: TlsServer
  let proxy: ReturnType<typeof startProxy>
  let proxyPort: number

  before(async () => {
    certificate = newCertificate(['id.example'])
    fake = await startFakeProvider()
    const { port } = new URL(fake.origin)
    tls = createTlsServer({ key: certificate.key, cert: certificate.cert }, (socket) => {
      const onward = connect(Number(port), '127.0.0.1').on('error', () => socket.destroy())
      socket.on('error', () => onward.destroy())
      onward.pipe(socket).pipe(onward)
    })
    await new Promise<void>((resolve) => tls.listen(0, '127.0.0.1', resolve))
    proxy = startProxy((tls.address() as AddressInfo).port) // safe: it listens on a port
    proxyPort = await listen(proxy.server)
  })
  beforeEach(() => {
    proxy.it.asked.length = 0
    Object.assign(proxy.it, { status: 200, hangs: false })
  })
  after(async () => {
    proxy.close()
    tls.close()
    await fake.close()
  })

  const outbound = (env: Readonly<Record<string, string>> = {}) => {
    const named = { HTTPS_PROXY: `http://ada:p%40ss@127.0.0.1:${proxyPort}`, ...env }
    return openOutbound({ ca: certificate.cert }, outboundProxy(named))
  }
  const openId = (env?: Readonly<Record<string, string>>) =>
    openIdConnectKind.build(
      { ...client, issuer, claims: { email: 'email' }, pkce: true },
      { name: 'acme', outbound: outbound(env), clock },
    )

  it('reach a provider of either kind by a tunnel, with the credentials of the proxy', async () => {
    const id = fakeIssuer(fake, issuer, 'us')
    const viaOpenId = await signIn(openId(), { ...fake, approve: id.approve })
    expect(viaOpenId.accountId).to.equal('sub-1')

    const urls = { authorizeUrl: `${issuer}/authorize`, tokenUrl: `${issuer}/token2`, profileUrl: `${issuer}/me` }
    const profile = { accountId: 'id', email: 'email', emailVerified: 'email_verified', integerAccountId: false }
    const options = {
      ...client,
      ...urls,
      profile,
      scopeSeparator: ' ',
      pkce: true,
      clientAuthentication: 'basic',
    } as const
    fake.answerTokens('id.example/token2', () => ({ access_token: 'at-1' }))
    fake.answer('id.example/me', { body: { id: 'a-1' } })
    const plain = oauth2Kind.build(options, { name: 'acme', outbound: outbound(), clock })
    expect((await signIn(plain, fake)).accountId).to.equal('a-1')

    const tunnel = { target: 'id.example:443', credentials: `Basic ${btoa('ada:p@ss')}` }
    expect(proxy.it.asked).to.deep.equal(Array.from({ length: 5 }, () => tunnel))
  })

  it('fail in time, and say so, when the proxy refuses or does not answer', async () => {
    const journey = { ...aJourney(), scopes: [] }
    proxy.it.status = 403
    const refused = await failureOf(openId().authorizationUrl(journey))
    expect(refused.message).to.equal('the proxy of HTTPS_PROXY refuses the connection (status 403)')
    proxy.it.hangs = true
    const began = Date.now()
    expect((await failureOf(openId().authorizationUrl(journey))).name).to.equal('ProviderFailed')
    expect(Date.now() - began).to.be.lessThan(inTime)
  })

  it('go past the proxy for hosts of NO_PROXY and for this machine', async () => {
    const journey = { ...aJourney(), scopes: [] }
    for (const exceptions of ['id.example', '.example', 'x.test, example', '*', '*.example', 'id.example:443']) {
      await failureOf(openId({ NO_PROXY: exceptions }).authorizationUrl(journey))
      expect(proxy.it.asked, exceptions).to.deep.equal([])
    }
    const local = await outbound().fetch(`${fake.origin}/nothing`, {
      method: 'GET',
      headers: {},
      signal: AbortSignal.timeout(inTime),
    })
    expect(local.status).to.equal(404)
    expect(proxy.it.asked).to.deep.equal([])
    for (const others of ['d.example', 'example.com', 'id.example:8443', 'xid.example']) {
      proxy.it.asked.length = 0
      await openId({ NO_PROXY: others }).authorizationUrl(journey)
      expect(proxy.it.asked, others).to.have.length(1)
    }
  })

  it('are made by the service through the proxy of its environment', async () => {
    const service = await spawnService({
      HTTPS_PROXY: `http://127.0.0.1:${proxyPort}`,
      NODE_EXTRA_CA_CERTS: certificate.certFile,
      PORTCULLIS_PROVIDERS__ACME__KIND: 'openid-connect',
      PORTCULLIS_PROVIDERS__ACME__CLIENT_ID: 'us',
      PORTCULLIS_PROVIDERS__ACME__CLIENT_SECRET: 'secret',
      PORTCULLIS_PROVIDERS__ACME__ISSUER: issuer,
      PORTCULLIS_PROVIDERS__ACME__BACKEND: 'cookie',
    })
    const answer = await fetch(`${service.url}/auth/acme/authorize`)
    await service.end('SIGTERM')
    expect(await answer.json())
      .to.have.property('authorization_url')
      .that.matches(/^https:\/\/id\.example\/authorize/)
    expect(proxy.it.asked).to.deep.equal([{ target: 'id.example:443', credentials: undefined }])
  })

  it('are refused at the start when the address of the proxy is unusable', () => {
    expect(outboundProxy({ https_proxy: '', HTTPS_PROXY: '', HTTP_PROXY: '' })).to.equal(null)
    expect(outboundProxy({ HTTP_PROXY: 'proxy.internal:3128' })?.url.href).to.equal('http://proxy.internal:3128/')
    for (const HTTPS_PROXY of ['socks5://proxy.internal:1080', 'http://']) {
      expect(() => outboundProxy({ HTTPS_PROXY })).to.throw('HTTPS_PROXY: must be the address of a proxy')
    }
    const unencoded = () => outboundProxy({ HTTPS_PROXY: 'http://ada:pass/word@proxy.internal:3128' })
    expect(unencoded).to.throw('must be the address of a proxy').with.property('message').that.includes('/ as %2F')
  })
})
