// Why somebody cannot log in, and the details of a user, for superusers.
import { expect } from 'chai'
import { eventually } from '../support/eventually.ts'
import { anAddress, forbidden, notFound, seen, unauthorized } from '../support/http/answers.ts'
import { call, goodPassword, logIn, register } from '../support/http/client.ts'
import { challenged, enrolled, prove } from '../support/scenes/factors.ts'
import { firstSuperuser } from '../support/scenes/first-superuser.ts'
import { quickest } from '../support/scenes/quickest.ts'
import { startSmtp } from '../support/servers/smtp.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

interface Explanation {
  readonly can_log_in: boolean
  readonly user: { readonly email: string } | null
  readonly causes: readonly { readonly code: string; readonly text: string; readonly detail: string | null }[]
  readonly refused_logins: readonly { readonly reason: string; readonly detail: string | null }[]
  readonly deliveries: readonly { readonly type: string; readonly reason: string | null }[]
  readonly last_login: string | null
  readonly limits: readonly { readonly limit: string; readonly points: number }[]
}

describe('why somebody cannot log in', () => {
  let smtp: Awaited<ReturnType<typeof startSmtp>>
  let service: TestService
  let url: string
  let admin: string

  before(async () => {
    const refuse = (address: string) =>
      /^unreachable/.test(address) ? { status: 550, text: '5.1.1 no such mailbox' } : null
    smtp = await startSmtp({ onRecipient: refuse })
    service = await startTestService({
      ...quickest,
      PORTCULLIS_MAIL__URL: `smtp://localhost:${smtp.port}`,
      PORTCULLIS_MAIL__FROM: 'accounts@example.com',
      PORTCULLIS_ROUTERS__FACTORS__ENABLED: 'true',
      PORTCULLIS_BACKENDS__COOKIE__REQUIRES_VERIFICATION: 'true',
      PORTCULLIS_LIMITS__PASSWORDS_BEFORE_PAUSES: '2',
      PORTCULLIS_HTTP__TRUSTED_PROXIES: '127.0.0.1,::1',
    })
    url = service.url
    admin = await firstSuperuser(service)
  })
  after(async () => {
    await service?.stop()
    await smtp?.kill()
  })

  async function explained(email: string): Promise<Explanation> {
    const answer = await call(url, 'POST', '/users/explain', { bearer: admin, json: { email } })
    expect(answer.status).to.equal(200)
    return answer.body as Explanation // safe: the document describes it
  }

  /** Waits until the note of the last login is written. */
  const explainedBy = (email: string, code: string) =>
    eventually(`${code} of ${email}`, async () => {
      const found = await explained(email)
      return found.causes[0]?.code === code ? found : undefined
    })

  const tryPassword = (email: string, password: string, backend = 'jwt') =>
    call(url, 'POST', `/auth/${backend}/login`, {
      form: { username: email, password },
      headers: { 'X-Forwarded-For': '192.0.2.7' },
    })

  it('is a wrong password, also while the client has to pause', async () => {
    const email = anAddress()
    await register(url, email)
    let status = 0
    for (let tries = 0; status !== 429 && tries < 6; tries++) status = (await tryPassword(email, 'wrong')).status
    expect(status).to.equal(429)
    const found = await eventually('the pause', async () => {
      const found = await explained(email)
      return found.refused_logins[0]?.reason === 'limit_reached' ? found : undefined
    })
    expect(found.causes[0]).to.deep.include({ code: 'wrong_password', detail: 'passwordsBeforePauses' })
    expect(found.causes[0]?.text).to.match(
      /^The password was wrong \d times, and the client had to pause\. .*user reset-link/,
    )
    expect(found.refused_logins[0]).to.deep.include({ reason: 'limit_reached', detail: 'passwordsBeforePauses' })
  })

  it('is an address that was not verified, where a login demands it', async () => {
    const email = anAddress()
    await register(url, email)
    expect((await tryPassword(email, goodPassword, 'cookie')).status).to.equal(400)
    const found = await explainedBy(email, 'not_verified')
    expect(found.causes[0]?.text).to.include('requiresVerification').and.include('user verify')
    expect(found.refused_logins.map(({ reason }) => reason)).to.deep.equal(['not_verified'])
  })

  it('is a disabled account', async () => {
    const email = anAddress()
    const { id } = await register(url, email)
    await call(url, 'PATCH', `/users/${id}`, {
      bearer: admin,
      json: { is_active: false, reason: 'spam', until: '2099-01-31T12:00:00Z' },
    })
    expect((await tryPassword(email, goodPassword)).status).to.equal(400)
    const found = await explainedBy(email, 'inactive')
    expect(found.can_log_in).to.equal(false)
    expect(found.causes[0]?.text).to.match(/disabled until 2099-01-31T12:00:00\.000Z \(spam\)\. .*user enable/)
  })

  it('is a second factor that was wrong', async () => {
    const { email } = await enrolled(url, anAddress(), () => new Date())
    const { challenge } = await challenged(url, email)
    const found = await explainedBy(email, 'second_factor_asked')
    expect(found.refused_logins.map(({ reason }) => reason)).to.deep.equal(['second_factor_asked'])
    expect((await prove(url, { challenge, code: '000000' })).status).to.equal(400)
    const then = await explainedBy(email, 'second_factor_wrong')
    expect(then.causes[0]).to.deep.include({ detail: 'totp' })
    expect(then.causes[0]?.text).to.include('user factors reset')
  })

  it('is a mail that the server refused', async () => {
    const email = anAddress('unreachable')
    await register(url, email)
    await tryPassword(email, goodPassword, 'cookie')
    const found = await explainedBy(email, 'mail_failed')
    expect(found.causes[0]?.detail).to.equal('MailRefused: RCPT TO: 550 5.1.1 no such mailbox')
    expect(found.causes[0]?.text).to.include('mail.url').and.include('events retry')
    expect(found.deliveries.map(({ type }) => type)).to.include('verification_requested')
  })

  it('is that nobody has the address, whose refused logins are shown all the same', async () => {
    const email = anAddress()
    expect((await tryPassword(email, 'any')).status).to.equal(400)
    const found = await eventually('its refused login', async () => {
      const found = await explained(email)
      return found.refused_logins.length > 0 ? found : undefined
    })
    expect(found).to.deep.include({ user: null, last_login: null })
    expect(found.causes.map(({ code }) => code)).to.deep.equal(['no_account'])
    expect(found.refused_logins.map(({ reason }) => reason)).to.deep.equal(['unknown_address'])
  })

  it('is nothing any more after a login', async () => {
    const email = anAddress()
    await register(url, email)
    await tryPassword(email, 'wrong')
    await explainedBy(email, 'wrong_password')
    await logIn(url, email)
    const { causes, last_login } = await explained(email)
    expect(causes.map(({ code }) => code)).to.not.include('wrong_password')
    expect(last_login).to.be.a('string')
  })

  it('is told to superusers alone, and counts nothing', async () => {
    const email = anAddress()
    const { id } = await register(url, email)
    const bearer = await logIn(url, email)
    const json = { email }
    expect(seen(await call(url, 'POST', '/users/explain', { json }))).to.deep.equal(unauthorized)
    expect(seen(await call(url, 'POST', '/users/explain', { json, bearer }))).to.deep.equal(forbidden)
    const byQuery = await call(url, 'GET', `/users/explain?email=${email}`, { bearer: admin })
    const { user, causes } = await explained(email)
    expect(byQuery.body).to.deep.include({ user, causes })
    for (const path of [`/users/explain?email=${email}`, `/users/${id}/details`]) {
      expect(seen(await call(url, 'GET', path))).to.deep.equal(unauthorized)
      expect(seen(await call(url, 'GET', path, { bearer }))).to.deep.equal(forbidden)
    }
    const points = async () => (await explained(email)).limits.map(({ limit, points }) => [limit, points])
    const before = await points()
    expect(before).to.not.have.length(0)
    expect(await points()).to.deep.equal(before)
    for (const wrong of ['', 'no-address']) {
      const path = `/users/explain?email=${wrong}`
      expect((await call(url, 'GET', path, { bearer: admin })).status).to.equal(422)
      const sent = { bearer: admin, json: { email: wrong } }
      expect((await call(url, 'POST', '/users/explain', sent)).status).to.equal(422)
    }
  })

  it('goes with the details of a user, without a secret', async () => {
    const { email, secret, recoveryCodes } = await enrolled(url, anAddress(), () => new Date())
    const found = (await explained(email)).user as { id: string } | null
    const path = `/users/${found?.id}/details`
    const answer = await call(url, 'GET', path, { bearer: admin })
    expect(answer.status).to.equal(200)
    const details = answer.body as Record<string, unknown>
    expect(details).to.have.nested.property('factors.recovery_codes', recoveryCodes.length)
    expect(details).to.have.nested.property('factors.totp.added_at')
    expect(details.last_login).to.be.a('string')
    expect(details).to.include.keys('sessions', 'oauth_accounts', 'tokens', 'limits', 'deliveries')
    const { user, causes, refused_logins } = await explained(email)
    expect(details).to.deep.include({ user, causes, refused_logins })
    for (const one of [secret, ...recoveryCodes, goodPassword]) expect(answer.text).to.not.include(one)
    const none = '/users/01890000-0000-7000-8000-000000000000/details'
    expect(seen(await call(url, 'GET', none, { bearer: admin }))).to.deep.equal(notFound)
  })
})
