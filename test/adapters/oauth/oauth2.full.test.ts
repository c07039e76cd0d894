import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { oauth2Kind } from '../../../src/adapters/oauth/oauth2.ts'
import { openOutbound } from '../../../src/adapters/oauth/outbound.ts'
import { CodeRefused, type OAuthProvider, ProviderFailed } from '../../../src/application/ports/oauth-provider.ts'
import { inTime } from '../../support/in-time.ts'
import { type Answer, type FakeProvider, startFakeProvider } from '../../support/providers/fake-provider.ts'
import { together } from '../../support/together.ts'
import { aJourney, failureOf, needsOf, now, signIn } from './scene.ts'

const acme = {
  clientId: 'us',
  clientSecret: 'se:cret%',
  authorizeUrl: 'https://acme.example/authorize',
  tokenUrl: 'https://acme.example/token',
  profileUrl: 'https://api.acme.example/me',
  profile: { accountId: 'id', email: 'email', emailVerified: 'email_verified', integerAccountId: false },
  scopes: ['email', 'profile'],
  scopeSeparator: ' ' as const,
  pkce: true,
  clientAuthentication: 'basic' as const,
}
const ada = { id: 'a-1', email: 'Ada@Example.com', email_verified: true }
const token = { access_token: 'at-secret', token_type: 'Bearer', expires_in: 60, refresh_token: 'rt-secret' }

async function startAcme(): Promise<FakeProvider> {
  const fake = await startFakeProvider()
  fake.answerTokens('acme.example/token', () => token)
  fake.answer('api.acme.example/me', { body: ada })
  return fake
}

describe('a provider of plain OAuth 2.0', () => {
  let fake: FakeProvider
  let provider: OAuthProvider

  beforeEach(async () => {
    fake = await startAcme()
    provider = oauth2Kind.build(acme, needsOf(fake))
  })
  afterEach(() => fake.close())

  describe('the authorization request', () => {
    it('cannot be changed by scopes or by the query of the address', async () => {
      const authorizeUrl =
        'https://acme.example/authorize?tenant=7&state=evil&state=evil2&redirect_uri=https://evil.example'
      const bent = oauth2Kind.build({ ...acme, authorizeUrl }, needsOf(fake))
      const journey = aJourney()
      const scopes = [
        'email&state=evil',
        'x#frag',
        'code_challenge_method=plain',
        'a%26redirect_uri=https://evil.example',
      ]
      const { searchParams, hash } = new URL(await bent.authorizationUrl({ ...journey, scopes }))
      expect(searchParams.getAll('state')).to.deep.equal([journey.state])
      expect(searchParams.getAll('redirect_uri')).to.deep.equal([journey.redirectUri])
      expect(searchParams.getAll('code_challenge_method')).to.deep.equal(['S256'])
      expect(searchParams.getAll('scope')).to.deep.equal([scopes.join(' ')])
      expect(searchParams.get('tenant')).to.equal('7')
      expect(hash).to.equal('')
    })

    it('joins scopes as the provider needs, and sends no scope when there is none', async () => {
      const commas = oauth2Kind.build({ ...acme, scopeSeparator: ',' }, needsOf(fake))
      const url = await commas.authorizationUrl({ ...aJourney(), scopes: ['a', 'b'] })
      expect(new URL(url).searchParams.get('scope')).to.equal('a,b')
      const none = await provider.authorizationUrl({ ...aJourney(), scopes: [] })
      expect(new URL(none).searchParams.has('scope')).to.equal(false)
    })
  })

  describe('the callback', () => {
    it('identifies the user', async () => {
      expect(await signIn(provider, fake)).to.deep.equal({
        accountId: 'a-1',
        email: 'Ada@example.com',
        isEmailVerified: true,
        fields: {},
        tokens: { accessToken: 'at-secret', refreshToken: 'rt-secret', expiresAt: new Date(now.getTime() + 60_000) },
      })
      const [exchange, profile] = fake.asked
      expect(exchange?.form.get('grant_type')).to.equal('authorization_code')
      // RFC 6749 section 2.3.1: both parts are form-encoded first.
      expect(exchange?.headers.authorization).to.equal(`Basic ${btoa('us:se%3Acret%25')}`)
      expect(exchange?.form.has('client_secret')).to.equal(false)
      expect(profile?.headers.authorization).to.equal('Bearer at-secret')
    })

    it('sends id and secret in the body if the settings say so', async () => {
      await signIn(oauth2Kind.build({ ...acme, clientAuthentication: 'post' }, needsOf(fake)), fake)
      expect(fake.asked[0]?.headers.authorization).to.equal(undefined)
      expect(fake.asked[0]?.form.get('client_id')).to.equal('us')
      expect(fake.asked[0]?.form.get('client_secret')).to.equal('se:cret%')
    })

    for (const [title, answer] of [
      ['a 400 of RFC 6749', { status: 400, body: { error: 'invalid_grant' } }],
      ['a 401', { status: 401, body: { error: 'invalid_client' } }],
      ['a 403 in HTML', { status: 403, body: '<html>no</html>', headers: { 'content-type': 'text/html' } }],
      ['a 404 without a body', { status: 404 }],
      ['an error with status 200', { body: { error: 'bad_verification_code', error_description: 'expired' } }],
    ] satisfies [string, Answer][]) {
      it(`is refused by ${title}, as is a refresh token`, async () => {
        fake.answer('acme.example/token', answer)
        expect(await failureOf(signIn(provider, fake))).to.be.instanceOf(CodeRefused)
        expect(await failureOf(provider.refresh('rt-1'))).to.be.instanceOf(CodeRefused)
        expect(fake.asked).to.have.length(2)
      })
    }

    for (const status of [408, 425, 429, 500, 503]) {
      it(`fails when the token endpoint answers ${status}, which does not judge the code`, async () => {
        fake.answer('acme.example/token', { status, body: { error: 'slow_down' } })
        expect(await failureOf(signIn(provider, fake))).to.be.instanceOf(ProviderFailed)
        expect(await failureOf(provider.refresh('rt-1'))).to.be.instanceOf(ProviderFailed)
      })
    }

    for (const [title, body] of [
      ['no access token', { token_type: 'bearer' }],
      ['an empty access token', { ...token, access_token: '' }],
      ['an access token that is no text', { ...token, access_token: 7 }],
      ['an access token that no header can carry', { ...token, access_token: 'a\r\nb' }],
      ['an access token of other letters than ASCII', { ...token, access_token: 'a\u00e9' }],
      ['an access token without end', { ...token, access_token: 'a'.repeat(16_385) }],
      ['a token of another kind', { ...token, token_type: 'mac' }],
      ['an empty body', ''],
    ] as const) {
      it(`fails on ${title}`, async () => {
        fake.answer('acme.example/token', { body })
        expect(await failureOf(signIn(provider, fake))).to.be.instanceOf(ProviderFailed)
        expect(fake.asked).to.have.length(1)
      })
    }

    it('ignores an invalid refresh token', async () => {
      for (const refreshToken of [7, '', {}, 'a\ud800', 'a\nb', 'a'.repeat(16_385)]) {
        fake.answerTokens('acme.example/token', () => ({ access_token: 'x', refresh_token: refreshToken }))
        expect((await signIn(provider, fake)).tokens.refreshToken).to.equal(null)
      }
    })

    for (const [title, expiresIn, seconds] of [
      ['a number', 3600, 3600],
      ['a number as text', '3600', 3600],
      ['nothing', undefined, null],
      ['zero', 0, null],
      ['nonsense', 'soon', null],
      ['a number past all dates', 1e300, null],
    ] as const) {
      it(`reads an expiry of ${title}`, async () => {
        fake.answerTokens('acme.example/token', () => ({ access_token: 'x', expires_in: expiresIn }))
        const { tokens } = await signIn(provider, fake)
        const expiresAt = seconds === null ? null : new Date(now.getTime() + seconds * 1000)
        expect(tokens).to.deep.equal({ accessToken: 'x', refreshToken: null, expiresAt })
      })
    }

    it('reveals no tokens, codes or secrets in its failures', async () => {
      fake.answer('api.acme.example/me', { status: 500, body: { error: 'at-secret' } })
      const failures = [await failureOf(signIn(provider, fake))]
      fake.answer('acme.example/token', { body: '"at-secret' })
      failures.push(await failureOf(signIn(provider, fake)))
      fake.answer('acme.example/token', { status: 500, body: { access_token: 'at-secret' } })
      failures.push(await failureOf(signIn(provider, fake)))
      for (const failure of failures) {
        expect(failure).to.be.instanceOf(ProviderFailed)
        expect(failure.cause).to.equal(undefined)
        expect(JSON.stringify({ ...failure })).to.equal('{"name":"ProviderFailed"}')
        expect(failure.message).not.to.match(/secret|se:cret|https?:/)
      }
    })
  })

  describe('the account', () => {
    for (const [title, id] of [
      ['a number', 42],
      ['a list', ['a-1']],
      ['an empty text', ''],
      ['a blank text', '  '],
      ['null', null],
      ['nothing', undefined],
      ['a text of 300 characters', 'x'.repeat(300)],
      ['a text with a control character', 'a\u0000b'],
      ['a text with half a character', 'a\ud800'],
      ['a text that was no UTF-8', 'a\ufffd'],
    ] as const) {
      it(`is not named by ${title}`, async () => {
        fake.answer('api.acme.example/me', { body: { ...ada, id } })
        expect(await failureOf(signIn(provider, fake))).to.be.instanceOf(ProviderFailed)
      })
    }

    it('has no id with invalid UTF-8, which always decodes to the same character', async () => {
      const latin1 = Buffer.from('{"id":"jos\u00e9","email":"jos\u00e9@b.example"}', 'latin1')
      fake.answer('api.acme.example/me', (_asked, response) => void response.end(latin1))
      expect(await failureOf(signIn(provider, fake))).to.be.instanceOf(ProviderFailed)
    })

    it('names the missing setting for a provider with numeric ids', async () => {
      fake.answer('api.acme.example/me', { body: { ...ada, id: 42 } })
      const { message } = await failureOf(signIn(provider, fake))
      expect(message).to.equal('the account id is a number: set profile.integerAccountId to true')
    })

    it('may have a safe integer as its id if the settings say so, but no other number', async () => {
      const profile = { ...acme.profile, integerAccountId: true }
      const numbers = oauth2Kind.build({ ...acme, profile }, needsOf(fake))
      fake.answer('api.acme.example/me', { body: { id: 9007199254740991 } })
      expect((await signIn(numbers, fake)).accountId).to.equal('9007199254740991')
      for (const id of ['9007199254740993', '1.5', '1e400', '{}', '[1]']) {
        fake.answer('api.acme.example/me', { body: `{"id":${id}}` })
        expect(await failureOf(signIn(numbers, fake)), id).to.be.instanceOf(ProviderFailed)
      }
    })

    it('is found at any depth', async () => {
      const profile = { ...acme.profile, accountId: 'data.user.id', email: 'data.mail', emailVerified: 'data.ok' }
      const deep = oauth2Kind.build({ ...acme, profile }, needsOf(fake))
      fake.answer('api.acme.example/me', { body: { data: { user: { id: 'deep' }, mail: 'a@b.example', ok: true } } })
      expect(await signIn(deep, fake)).to.deep.include({
        accountId: 'deep',
        email: 'a@b.example',
        isEmailVerified: true,
      })
    })

    for (const [title, email] of [
      ['absent', undefined],
      ['null', null],
      ['no address', 'not an address'],
      ['several addresses', ['a@b.example']],
      ['two addresses', 'a@b.example,c@d.example'],
      ['an address and a header', 'a@b.example\r\nBcc: c@d.example'],
      ['an address that only looks like one', 'a\uff20b.example'],
      ['an address with a name', 'Ada <a@b.example>'],
      ['longer than an address', `${'a'.repeat(250)}@b.example`],
    ] as const) {
      it(`has no address when it is ${title}`, async () => {
        fake.answer('api.acme.example/me', { body: { id: 'a-1', email, email_verified: true } })
        expect(await signIn(provider, fake)).to.deep.include({ accountId: 'a-1', email: null, isEmailVerified: false })
      })
    }
  })

  describe('a refreshed token', () => {
    it('replaces the access token, and keeps the refresh token when there is no new one', async () => {
      fake.answerTokens('acme.example/token', () => ({ access_token: 'new', token_type: 'bearer', expires_in: 10 }))
      expect(await provider.refresh('rt-1')).to.deep.equal({
        accessToken: 'new',
        refreshToken: 'rt-1',
        expiresAt: new Date(now.getTime() + 10_000),
      })
      expect(Object.fromEntries(fake.asked[0]?.form ?? [])).to.deep.equal({
        grant_type: 'refresh_token',
        refresh_token: 'rt-1',
      })
      fake.answerTokens('acme.example/token', () => token)
      expect((await provider.refresh('rt-1')).refreshToken).to.equal('rt-secret')
    })
  })

  describe('its time', () => {
    // Each waits for a deadline to pass.
    together([
      { title: 'has one deadline for all steps together', run: shareOneDeadline },
      { title: 'is given up when it does not accept the connection within two seconds', run: giveUpConnecting },
    ])
  })

  describe('its size', () => {
    it('reads at most 256 KiB', async () => {
      const own = { ...ada, filler: 'x'.repeat(200_000) }
      fake.answer('api.acme.example/me', { body: own })
      expect((await signIn(provider, fake)).accountId).to.equal('a-1')
      fake.answer('api.acme.example/me', { body: { ...own, more: 'x'.repeat(70_000) } })
      expect(await failureOf(signIn(provider, fake))).to.be.instanceOf(ProviderFailed)
      fake.answer('api.acme.example/me', { body: ada })
      fake.answerTokens('acme.example/token', () => ({ ...token, filler: 'x'.repeat(262_144) }))
      expect(await failureOf(signIn(provider, fake))).to.be.instanceOf(ProviderFailed)
    })

    it('decompresses nothing', async () => {
      fake.answer('api.acme.example/me', { body: ada, headers: { 'content-encoding': 'gzip' } })
      expect((await signIn(provider, fake)).accountId).to.equal('a-1')
      expect(fake.asked.map(({ headers }) => headers['accept-encoding'])).to.deep.equal([undefined, undefined])
    })
  })

  it('is never asked without TLS, except on loopback', async () => {
    for (const url of ['http://acme.example/t', 'http://127.0.0.1.evil.example/t', 'http://10.0.0.1/t']) {
      for (const part of ['tokenUrl', 'profileUrl']) {
        const wrong = oauth2Kind.build({ ...acme, [part]: url }, needsOf(fake))
        const before = fake.asked.length
        expect(await failureOf(signIn(wrong, fake)), url).to.be.instanceOf(ProviderFailed)
        expect(fake.asked.length - before, url).to.equal(part === 'tokenUrl' ? 0 : 1)
      }
    }
  })
})

async function shareOneDeadline(): Promise<void> {
  const slowly = (body: object) => (_asked: unknown, response: ServerResponse) =>
    void setTimeout(() => response.end(JSON.stringify(body)), 3000)
  const own = await startAcme()
  own.answer('acme.example/token', slowly(token))
  own.answer('api.acme.example/me', slowly(ada))
  const began = Date.now()
  expect(await failureOf(signIn(oauth2Kind.build(acme, needsOf(own)), own))).to.be.instanceOf(ProviderFailed)
  expect(Date.now() - began).to.be.within(4800, inTime)
  await own.close()
}

async function giveUpConnecting(): Promise<void> {
  const own = await startAcme()
  await withDeafServer(async (url) => {
    const provider = oauth2Kind.build({ ...acme, tokenUrl: url }, { ...needsOf(own), outbound: openOutbound() })
    const { message } = await failureOf(signIn(provider, own))
    expect(message).to.include('UND_ERR_CONNECT_TIMEOUT')
  })
  await own.close()
}

/** An address of this machine that neither accepts nor refuses a connection. */
async function withDeafServer(use: (url: string) => Promise<void>): Promise<void> {
  const listening = "net.createServer().listen(0, '127.0.0.1', 1, function () { console.log(this.address().port) })"
  const stopped = spawn(process.execPath, ['-e', listening], { stdio: ['ignore', 'pipe', 'ignore'] })
  const filling: Socket[] = []
  try {
    const [line] = await once(stopped.stdout, 'data')
    const port = Number(String(line))
    stopped.kill('SIGSTOP')
    // The kernel accepts connections for a stopped process until its backlog is full.
    for (let one = 0; one < 8; one += 1) filling.push(connect(port, '127.0.0.1').on('error', () => undefined))
    await sleep(200)
    await use(`http://127.0.0.1:${port}/`)
  } finally {
    for (const socket of filling) socket.destroy()
    stopped.kill('SIGKILL')
  }
}
