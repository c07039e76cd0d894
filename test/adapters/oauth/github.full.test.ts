import { expect } from 'chai'
import { githubKind } from '../../../src/adapters/oauth/presets/github.ts'
import { CodeRefused, type OAuthProvider, ProviderFailed } from '../../../src/application/ports/oauth-provider.ts'
import { type FakeProvider, type Reply, startFakeProvider } from '../../support/providers/fake-provider.ts'
import { aJourney, failureOf, needsOf, signIn } from './scene.ts'

const bearer = { access_token: 'at-1', token_type: 'bearer', scope: 'x' }

describe('the preset github', () => {
  let fake: FakeProvider
  let provider: OAuthProvider

  beforeEach(async () => {
    fake = await startFakeProvider()
    provider = githubKind.build({ clientId: 'us', clientSecret: 'secret', scopes: ['user:email'] }, needsOf(fake))
    fake.answerTokens('github.com/login/oauth/access_token', () => bearer, {
      body: { error: 'bad_verification_code', error_description: 'The code passed is incorrect or expired.' },
    })
    fake.answer('api.github.com/user', { body: { login: 'ada', id: 583_231, email: 'public@example.com' } })
  })
  afterEach(() => fake.close())

  const secondary = { email: 'second@example.com', primary: false, verified: true, visibility: null }

  const primary = { email: 'ada@example.com', primary: true, verified: true, visibility: 'private' }

  for (const [title, emails, email, isEmailVerified] of [
    ['the primary address when it is verified', { body: [secondary, primary] }, primary.email, true],
    [
      'the primary address when it is not verified, and no other',
      { body: [secondary, { ...primary, verified: false }] },
      primary.email,
      false,
    ],
    ['no address when none is primary', { body: [secondary] }, null, false],
    ['no address when there is none', { body: [] }, null, false],
    ['no address when that is not granted', { status: 404, body: { message: 'Not Found' } }, null, false],
    ['no address when that is forbidden', { status: 403, body: { message: 'Forbidden' } }, null, false],
  ] satisfies [string, Reply, string | null, boolean][]) {
    it(`reads ${title}`, async () => {
      fake.answer('api.github.com/user/emails', emails)
      expect(await signIn(provider, fake)).to.deep.include({ accountId: '583231', email, isEmailVerified })
      expect(fake.asked[0]?.form.get('client_secret')).to.equal('secret')
    })
  }

  it('fails when the rate limit of addresses is exceeded, although that is a 403', async () => {
    for (const headers of [{ 'x-ratelimit-remaining': '0' }, { 'retry-after': '60' }] as Record<string, string>[]) {
      fake.answer('api.github.com/user/emails', { status: 403, headers, body: { message: 'API rate limit exceeded' } })
      expect(await failureOf(signIn(provider, fake))).to.be.instanceOf(ProviderFailed)
    }
  })

  it('is sent to GitHub with PKCE', async () => {
    const url = new URL(await provider.authorizationUrl({ ...aJourney(), scopes: provider.scopes }))
    expect(url.origin + url.pathname).to.equal('https://github.com/login/oauth/authorize')
    expect(url.searchParams.get('scope')).to.equal('user:email')
    expect(url.searchParams.get('code_challenge_method')).to.equal('S256')
  })

  it('is refused by the error that comes with status 200', async () => {
    const refused = provider.identify({ code: 'no-such-code', state: 's', iss: null }, aJourney())
    expect(await failureOf(refused)).to.be.instanceOf(CodeRefused)
  })

  it('fails on errors of the profile and of the addresses', async () => {
    fake.answer('api.github.com/user/emails', { status: 500 })
    expect(await failureOf(signIn(provider, fake))).to.be.instanceOf(ProviderFailed)
    fake.answer('api.github.com/user', { status: 401, body: { message: 'Bad credentials' } })
    expect(await failureOf(signIn(provider, fake))).to.be.instanceOf(ProviderFailed)
  })
})
