import { expect } from 'chai'
import fc from 'fast-check'
import { type Acme, aPerson, startAcme } from '../support/acme.ts'
import { call } from '../support/client.ts'
import { rounds } from '../support/long.ts'
import { Browser, tokenOf } from '../support/oauth-browser.ts'
import { startTestService, type TestService } from '../support/service.ts'

const words = fc.constantFrom(
  '',
  ' ',
  '\u0000',
  '__proto__',
  'constructor',
  '[object Object]',
  'null',
  '\ud800',
  '1',
  'a'.repeat(300),
)
const odd = fc.oneof(words, fc.jsonValue({ maxDepth: 2 }), fc.constantFrom(1e21, 2 ** 53, -0, 0.5))
/** Mostly what makes sense, so that what does not is met at every step of the way. */
const mostly = (good: unknown) => fc.oneof({ weight: 4, arbitrary: fc.constant(good) }, { weight: 1, arbitrary: odd })
const fields = (good: Readonly<Record<string, unknown>>) =>
  fc.record(Object.fromEntries(Object.entries(good).map(([name, value]) => [name, mostly(value)])), {
    requiredKeys: [],
  })

const text = fc.oneof(
  fc.string({ maxLength: 200, unit: 'binary' }),
  fc.constantFrom(
    '',
    '{',
    '[]',
    '{"access_token":',
    'access_token=a',
    '<!doctype html>',
    '\ufeff{}',
    '{"id":1,"id":2}',
  ),
)
const status = fc.oneof(
  { weight: 5, arbitrary: fc.constant(200) },
  { weight: 1, arbitrary: fc.constantFrom(201, 204, 301, 304, 400, 401, 404, 429, 500, 503) },
)
const reply = (good: Readonly<Record<string, unknown>>) =>
  fc.record({
    status,
    body: fc.oneof(
      { weight: 6, arbitrary: fields(good) },
      { weight: 1, arbitrary: odd },
      { weight: 1, arbitrary: text },
    ),
    headers: fc.constantFrom({ 'content-type': 'application/json' }, { 'content-type': 'text/html' }, {}),
  })

const refusals = ['Bad Request', 'OAUTH_PROVIDER_ERROR', 'OAUTH_NOT_AVAILABLE_EMAIL', 'OAUTH_USER_ALREADY_EXISTS']

describe('a provider that answers anything at all', function () {
  this.timeout(600_000)
  let acme: Acme
  let service: TestService

  before(async () => {
    acme = await startAcme()
    service = await startTestService({ PORTCULLIS_STORES__USERS__KIND: 'memory', ...acme.env() })
  })
  after(async () => {
    await service?.stop()
    await acme?.close()
  })

  it('is never a fault of ours, and never makes an account of an odd name', async () => {
    const { id, email } = aPerson()
    const answers = fc.record({
      token: reply({
        access_token: 'good',
        token_type: 'Bearer',
        expires_in: 60,
        refresh_token: 'again',
        error: undefined,
      }),
      profile: reply({ id, email, email_verified: true }),
    })
    const seen = new Set<number>()
    const property = fc.asyncProperty(answers, async ({ token, profile }) => {
      const browser = new Browser(service.url)
      const back = acme.approve(await browser.begin(acme), {})
      acme.instead('token', token)
      acme.instead('profile', profile)
      const answer = await browser.comeBack(acme, back)
      seen.add(answer.status)
      if (answer.status !== 200) {
        expect(answer.status).to.be.oneOf([400, 502])
        expect((answer.body as { detail: unknown }).detail).to.be.oneOf(refusals)
        return
      }
      const bearer = tokenOf(answer)
      const links = (await call(service.url, 'GET', '/users/me/oauth-accounts', { bearer })).body as {
        account_id: unknown
      }[]
      for (const { account_id: name } of links) {
        expect(name).to.be.a('string')
        expect(String(name))
          .to.match(/\S/)
          .and.not.match(/[\p{Cc}\p{Cs}]/u)
        expect(String(name)).to.have.length.of.at.most(255)
      }
      expect(links.map(({ account_id: name }) => name)).to.include((profile.body as { id: unknown }).id)
    })
    await fc.assert(property, { numRuns: rounds(300, 2000) })
    expect([...seen].sort()).to.deep.equal([200, 400, 502])
    expect(service.logLines.filter((line) => /request failed|service unavailable/.test(line))).to.deep.equal([])
  })
})
