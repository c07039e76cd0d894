import { expect } from 'chai'
import { oauth2Kind } from '../../../src/adapters/oauth/oauth2.ts'
import { openIdConnectKind } from '../../../src/adapters/oauth/openid-connect-kind.ts'
import { openOutbound } from '../../../src/adapters/oauth/outbound.ts'
import { CodeRefused, type OAuthProvider } from '../../../src/application/ports/oauth-provider.ts'
import { browse, type OpenIdProvider, startOpenIdProvider } from '../../support/providers/openid-provider.ts'
import { aJourney, failureOf } from './scene.ts'

const redirectUri = 'https://us.example/auth/acme/callback'
const basic = { clientId: 'basic', clientSecret: 'a s+cret:%', redirectUris: [redirectUri] }

describe('a login with the package oidc-provider', () => {
  let server: OpenIdProvider
  let provider: OAuthProvider
  const needs = { name: 'acme', outbound: openOutbound(), clock: () => new Date() }
  const options = () => ({
    ...basic,
    scopes: ['openid', 'email'],
    issuer: server.issuer,
    claims: { email: 'email' },
    pkce: true,
  })

  beforeEach(async () => {
    server = await startOpenIdProvider([basic])
    provider = openIdConnectKind.build(options(), needs)
  })
  afterEach(() => server.close())

  /** Sends the browser to the provider, and returns the parameters of its callback. */
  async function journeyTo(goal: OAuthProvider) {
    const journey = { ...aJourney(), redirectUri }
    const back = await browse(await goal.authorizationUrl({ ...journey, scopes: goal.scopes }), redirectUri)
    expect(back.get('state')).to.equal(journey.state)
    const parameters = { code: back.get('code') ?? '', state: back.get('state') ?? '', iss: back.get('iss') }
    return { journey, back, parameters }
  }

  it('signs a user in by discovery, with user information, and refreshes', async () => {
    server.user = { sub: 'ada', email: 'ada@example.com', email_verified: true }
    const { journey, parameters } = await journeyTo(provider)
    expect(parameters.iss).to.equal(server.issuer)
    const { tokens, ...identity } = await provider.identify(parameters, journey)
    expect(identity).to.deep.equal({ accountId: 'ada', email: 'ada@example.com', isEmailVerified: true, fields: {} })
    expect(tokens.expiresAt?.getTime()).to.be.closeTo(Date.now() + 60_000, 30_000)
    const fresh = await provider.refresh(tokens.refreshToken ?? '')
    expect(fresh.accessToken).not.to.equal(tokens.accessToken)
  })

  it('refuses a used code, and a code with another verifier or redirect address', async () => {
    const { journey, parameters } = await journeyTo(provider)
    await provider.identify(parameters, journey)
    const used = await failureOf(provider.identify(parameters, journey))
    expect(used).to.be.instanceOf(CodeRefused)
    expect(String(used)).to.include('(invalid_grant, status 400)')
    for (const change of [{ codeVerifier: aJourney().codeVerifier }, { redirectUri: `${redirectUri}?x=1` }]) {
      const other = await journeyTo(provider)
      const failure = await failureOf(provider.identify(other.parameters, { ...other.journey, ...change }))
      expect(failure).to.be.instanceOf(CodeRefused)
    }
  })

  it('works as plain OAuth 2.0, too', async () => {
    server.user = { sub: 'ada', email: 'ada@example.com', email_verified: true }
    const plain = oauth2Kind.build(
      {
        ...basic,
        scopes: ['openid', 'email'],
        authorizeUrl: `${server.issuer}/auth`,
        tokenUrl: `${server.issuer}/token`,
        profileUrl: `${server.issuer}/me`,
        profile: { accountId: 'sub', email: 'email', emailVerified: 'email_verified', integerAccountId: false },
        scopeSeparator: ' ',
        pkce: true,
        clientAuthentication: 'basic',
        issuer: server.issuer,
      },
      needs,
    )
    const { journey, parameters } = await journeyTo(plain)
    const identity = await plain.identify(parameters, journey)
    expect(identity).to.deep.include({ accountId: 'ada', email: 'ada@example.com', isEmailVerified: true })
    expect((await plain.refresh(identity.tokens.refreshToken ?? '')).accessToken).to.be.a('string')
  })
})
