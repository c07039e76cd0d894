// The messages of a built service through a server that wants TLS and a login.

import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { scratchModule } from '../adapters/events/scratch-module.ts'
import { eventually } from '../support/eventually.ts'
import { call, goodPassword, logIn } from '../support/http/client.ts'
import { isMail, tokenIn } from '../support/scenes/mail.ts'
import { certificate } from '../support/servers/certificate.ts'
import { type SmtpStandIn, startSmtp } from '../support/servers/smtp.ts'
import { type SpawnedService, spawnService } from '../support/services/spawned-service.ts'

const login = { user: 'postmaster@example.com', password: 'a p@ss/word' }
const german = { 'Accept-Language': 'de-AT, de;q=0.9' }
const english = { 'Accept-Language': 'en' }

describe('mail through a server with TLS and a login', () => {
  const module = scratchModule(`
    const write = (name) => (user, ...rest) => note({ name, email: user.email, languages: rest.at(-1).languages })
    export const on_after_register = write('register')
    export const on_after_request_verify = write('request_verify')
    export const on_after_reset_password = write('reset_password')`)
  let smtp: SmtpStandIn
  let service: SpawnedService

  before(async () => {
    smtp = await startSmtp({ tls: 'starttls', login })
    service = await spawnService({
      NODE_EXTRA_CA_CERTS: certificate().certFile,
      PORTCULLIS_LOGS__LEVEL: 'trace',
      PORTCULLIS_LOGS__REQUESTS: 'all',
      PORTCULLIS_HANDLERS__MODULE: fileURLToPath(module.url),
      PORTCULLIS_MAIL__URL: `smtp://${encodeURIComponent(login.user)}:${encodeURIComponent(login.password)}@localhost:${smtp.port}`,
      PORTCULLIS_MAIL__REQUIRE_TLS: 'true',
      PORTCULLIS_MAIL__REPLY_TO: 'help@example.com',
      PORTCULLIS_MAIL__LINKS__RESET: 'https://app.example.com/reset',
    })
  })

  after(async () => {
    await service?.end('SIGTERM')
    await smtp?.kill()
    module.remove()
  })

  const register = (email: string, headers: Record<string, string>) =>
    call(service.url, 'POST', '/auth/register', { json: { email, password: goodPassword }, headers })
  const ask = (path: string, email: string, headers: Record<string, string>) =>
    call(service.url, 'POST', path, { json: { email }, headers })

  it('verifies an address, in the language of the registration, once', async () => {
    await register('grete@example.com', german)
    const mail = await smtp.mail(isMail('Bestätigen Sie Ihre Adresse', 'grete@example.com'))
    await ask('/auth/request-verify-token', 'grete@example.com', english)
    expect(mail.parsed.from?.address).to.equal(login.user)
    expect(mail.parsed.text).to.contain(`${service.url}/account/verify#token=`)
    expect(mail.parsed.html).to.contain('<html lang="de">')
    const verified = await call(service.url, 'POST', '/auth/verify', { json: { token: tokenIn(mail) } })
    expect(verified.body).to.include({ email: 'grete@example.com', is_verified: true })
    expect(smtp.received.filter(({ to }) => to[0] === 'grete@example.com')).to.have.length(1)
  })

  it('resets a password, and tells about the new one', async () => {
    await ask('/auth/forgot-password', 'grete@example.com', english)
    const mail = await smtp.mail(isMail('Choose a new password', 'grete@example.com'))
    expect(mail.parsed.text).to.contain('https://app.example.com/reset#token=')
    const reset = { token: tokenIn(mail), password: `${goodPassword}!` }
    const answer = await call(service.url, 'POST', '/auth/reset-password', { json: reset, headers: german })
    expect(answer.status).to.equal(200)
    const notice = await smtp.mail(isMail('Ihr Passwort wurde geändert', 'grete@example.com'))
    expect(notice.parsed.text).to.contain('help@example.com')
  })

  it('tells the old address about a new one', async () => {
    const bearer = await logIn(service.url, 'grete@example.com', `${goodPassword}!`)
    const json = { email: 'margarete@example.com' }
    expect((await call(service.url, 'PATCH', '/users/me', { json, bearer })).status).to.equal(200)
    await smtp.mail(isMail('Your address was changed', 'grete@example.com'))
  })

  it('leaves the handlers of the deployer their events', async () => {
    const notes = () => module.notes() as { name: string; email: string; languages: string[] }[] // safe: as the module writes them
    await eventually('three calls', () => notes().length >= 3)
    const email = 'grete@example.com'
    expect(notes()).to.deep.equal([
      { name: 'register', email, languages: ['de-AT', 'de'] },
      { name: 'request_verify', email, languages: ['de-AT', 'de'] },
      { name: 'reset_password', email, languages: ['de-AT', 'de'] },
    ])
  })

  it('puts no token, address, text or password into the log', async () => {
    expect(service.errors.length).to.be.above(5)
    const log = service.errors.join('\n')
    for (const received of smtp.received) {
      for (const [token] of received.source.matchAll(/[\w-]{43}/g)) expect(log).to.not.contain(token)
    }
    for (const text of ['@example.com', 'postmaster', 'p@ss', 'p%40ss', 'Passwort', 'password was', goodPassword]) {
      expect(log).to.not.contain(text)
    }
  })
})
