import { expect } from 'chai'
import fc from 'fast-check'
import { rounds } from '../support/mocha/long.ts'
import { aPerson } from '../support/providers/acme.ts'
import { AcmeSite } from '../support/providers/acme-site.ts'
import { tokenOf } from '../support/providers/oauth-browser.ts'

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
/** Mostly good values, so that odd ones occur at every step of the way. */
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

describe('a provider that gives random answers', function () {
  this.timeout(600_000)
  let site: AcmeSite
  before(async () => {
    site = await AcmeSite.start({}, { PORTCULLIS_STORES__USERS__KIND: 'memory' })
  })
  after(() => site?.stop())

  it('never causes a 500, and never creates an account with an invalid id', async () => {
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
      const { acme } = site
      const browser = site.browser()
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
      const names = (await site.linksOf(bearer)).map(({ account_id }) => account_id)
      for (const name of names) {
        expect(name)
          .to.match(/\S/)
          .and.not.match(/[\p{Cc}\p{Cs}]/u)
        expect(name).to.have.length.of.at.most(255)
      }
      expect(names).to.include((profile.body as { id: unknown }).id)
    })
    await fc.assert(property, { numRuns: rounds(300, 2000) })
    expect([...seen].sort()).to.deep.equal([200, 400, 502])
    expect(site.service.logLines.filter((line) => /request failed|service unavailable/.test(line))).to.deep.equal([])
  })
})
