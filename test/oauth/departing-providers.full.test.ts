// Entra ID, LINE, Azure AD B2C and a provider that rejects PKCE, played on loopback as their documents describe them.
import { expect } from 'chai'
import { eventually } from '../support/eventually.ts'
import { anAddress, refused, seen } from '../support/http/answers.ts'
import { type Answer, call, logIn, register } from '../support/http/client.ts'
import { fakeIssuer } from '../support/providers/fake-issuer.ts'
import { type FakeProvider, startFakeProvider } from '../support/providers/fake-provider.ts'
import { Browser, tokenOf, toLink, type Way } from '../support/providers/oauth-browser.ts'
import { verifyToken } from '../support/scenes/one-time-tokens.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

const secret = '0123456789abcdef0123456789abcdef'
const tenant = '8eaef023-2b34-4da1-9baa-8bc8c9d6a490'
const names = ['entra', 'line', 'b2c', 'plain'] as const
type Name = (typeof names)[number]

describe('a provider that departs from the rules', () => {
  let fake: FakeProvider
  let service: TestService
  let issuers: Readonly<Record<Name, ReturnType<typeof fakeIssuer>>>

  before(async () => {
    fake = await startFakeProvider()
    const at = fake.origin
    const policy = `${at}/contoso.onmicrosoft.com/B2C_1_signin/v2.0`
    issuers = {
      entra: fakeIssuer(fake, `${at}/${tenant}/v2.0`, 'us'),
      line: fakeIssuer(fake, `${at}/line`, 'us'),
      b2c: fakeIssuer(fake, `${at}/tfp/${tenant}/v2.0/`, 'us', undefined, policy),
      plain: fakeIssuer(fake, `${at}/plain`, 'us'),
    }
    issuers.line.it.metadata = { id_token_signing_alg_values_supported: ['ES256'] }
    service = await startTestService({
      PORTCULLIS_STORES__USERS__KIND: 'memory',
      PORTCULLIS_MAIL__URL: 'mailbox:',
      ...settings('entra', {
        ISSUER: `${at}/${tenant}/v2.0`,
        CLAIMS__EMAIL: 'preferred_username',
        CLAIMS__EMAIL_VERIFIED: 'xms_edov',
      }),
      ...settings('line', { ISSUER: `${at}/line`, ID_TOKEN_ALGORITHM: 'HS256', LABEL: 'LINE ID' }),
      ...settings('b2c', {
        ISSUER: `${at}/tfp/${tenant}/v2.0/`,
        DISCOVERY_URL: `${policy}/.well-known/openid-configuration`,
        CLAIMS__EMAIL: 'emails.0',
      }),
      ...settings('plain', { ISSUER: `${at}/plain`, PKCE: 'false' }),
    })
  })
  after(async () => {
    await service?.stop()
    await fake?.close()
  })

  /** The claims of a person in the ID tokens of each provider, and whether it vouches for the address. */
  const claimsOf: Readonly<Record<Name, (email: string) => object>> = {
    entra: (email) => ({ tid: tenant, oid: 'o-1', preferred_username: email, email_verified: true, xms_edov: true }),
    line: (email) => ({ email, amr: ['linesso'] }),
    b2c: (email) => ({ emails: [email], tfp: 'B2C_1_signin' }),
    plain: (email) => ({ email, email_verified: true }),
  }
  const vouches = (name: Name) => name === 'plain'

  /** A whole journey of a person with this address. */
  async function travel(name: Name, email: string, way?: Way): Promise<Answer> {
    const algorithm = name === 'line' ? ({ algorithm: 'HS256', secret } as const) : {}
    issuers[name].it.idToken = { ...algorithm, claims: { sub: `sub-of-${email}`, ...claimsOf[name](email) } }
    const browser = new Browser(service.url)
    const url = await browser.begin({ name }, way)
    const rejects = name === 'plain' && new URL(url).searchParams.has('code_challenge')
    const refusal = { error: 'invalid_request', state: new URL(url).searchParams.get('state') ?? '' }
    return await browser.comeBack({ name }, rejects ? refusal : issuers[name].approve(url), way)
  }
  const ask = async (path: string, bearer: string) => (await call(service.url, 'GET', path, { bearer })).body
  const linksOf = async (bearer: string) => await ask('/users/me/oauth-accounts', bearer)

  for (const name of names) {
    it(`signs people up and in: ${name}`, async () => {
      const email = anAddress(name)
      const first = tokenOf(await travel(name, email))
      expect(await ask('/users/me', first)).to.deep.include({ email, is_verified: vouches(name) })
      const second = tokenOf(await travel(name, email))
      expect(await ask('/users/me', second)).to.deep.equal(await ask('/users/me', first))
    })

    it(`links an account, which then signs in: ${name}`, async () => {
      const [email, other] = [anAddress(name), anAddress(name)]
      await register(service.url, email)
      const bearer = await logIn(service.url, email)
      expect((await travel(name, other, toLink(bearer))).status).to.equal(200)
      const [link] = (await linksOf(bearer)) as object[] // safe: 200 carries a list
      expect(link).to.deep.include({ oauth_name: name, account_id: `sub-of-${other}`, account_email: other })
      expect(await ask('/users/me', tokenOf(await travel(name, other)))).to.deep.include({ email })
    })
  }

  it('gets an account by its address only if the provider vouches for it', async () => {
    for (const name of names) {
      const email = anAddress(name)
      await register(service.url, email)
      await call(service.url, 'POST', '/auth/verify', { json: { token: await verifyToken(service, email) } })
      const answer = await travel(name, email)
      if (vouches(name)) expect(await ask('/users/me', tokenOf(answer))).to.deep.include({ email })
      else expect(seen(answer), name).to.deep.equal(refused(400, 'OAUTH_USER_ALREADY_EXISTS'))
    }
  })

  it('has its label in messages', async () => {
    const verified = tokenOf(await travel('plain', anAddress('plain')))
    expect((await travel('line', anAddress('line'), toLink(verified))).status).to.equal(200)
    const mailbox = async () => await (await fetch(service.mailboxUrl ?? '')).text()
    await eventually('the message', async () => (await mailbox()).includes('LINE ID account'))
  })

  it('cannot use an ID token that somebody signed with the public key in place of the client secret', async () => {
    const browser = new Browser(service.url)
    const url = await browser.begin({ name: 'line' })
    issuers.line.it.idToken = { algorithm: 'HS256', claims: { email: anAddress('line') } }
    const answer = await browser.comeBack({ name: 'line' }, issuers.line.approve(url))
    expect(seen(answer)).to.deep.equal(refused(502, 'OAUTH_PROVIDER_ERROR'))
    expect(service.logLines.join('')).to.include('the signature of the ID token is not by the client secret')
  })
})

function settings(name: string, options: Readonly<Record<string, string>>): Record<string, string> {
  const given = {
    KIND: 'openid-connect',
    CLIENT_ID: 'us',
    CLIENT_SECRET: secret,
    ASSOCIATE_BY_EMAIL: 'true',
    VERIFIED_BY_DEFAULT: 'true',
    ...options,
  }
  const prefix = `PORTCULLIS_PROVIDERS__${name.toUpperCase()}__`
  return Object.fromEntries(Object.entries(given).map(([option, value]) => [prefix + option, value]))
}
