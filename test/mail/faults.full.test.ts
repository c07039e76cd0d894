// A mail server that is down, refuses a recipient, drops connections or lacks TLS.
import { expect } from 'chai'
import { eventually } from '../support/eventually.ts'
import { call, goodPassword, register } from '../support/http/client.ts'
import { portcullis } from '../support/process/command-line.ts'
import { type SmtpStandIn, startSmtp } from '../support/servers/smtp.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

describe('a mail server with a fault', () => {
  const open: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const close of open.splice(0).reverse()) await close()
  })

  async function server(behaviour: Parameters<typeof startSmtp>[0] = {}): Promise<SmtpStandIn> {
    const smtp = await startSmtp(behaviour)
    open.push(() => smtp.kill())
    return smtp
  }

  async function serviceAt(port: number, more: Readonly<Record<string, string>> = {}): Promise<TestService> {
    const service = await startTestService({ PORTCULLIS_MAIL__URL: `smtp://127.0.0.1:${port}`, ...more })
    open.push(() => service.stop())
    return service
  }

  const failures = ({ logLines }: TestService) =>
    logLines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'delivery failed')

  it('delays the messages until it is up again', async () => {
    const smtp = await server()
    await smtp.kill()
    const service = await serviceAt(smtp.port)
    await register(service.url, 'ada@example.com')
    const failure = await eventually('a failure', () => failures(service)[0])
    expect(failure).to.include({
      error: 'MailFailed',
      where: `CONN: ECONNREFUSED (127.0.0.1:${smtp.port})`,
      outcome: 'postponed',
    })
    const again = await server({ port: smtp.port })
    await again.mail(({ to }) => to[0] === 'ada@example.com')
  })

  it('loses only the message whose recipient it refuses for good', async () => {
    const refused = { status: 550, text: '5.1.1 <gone@example.com> is unknown' }
    const smtp = await server({ onRecipient: (address) => (address.startsWith('gone') ? refused : null) })
    const service = await serviceAt(smtp.port)
    await register(service.url, 'gone@example.com')
    await register(service.url, 'ada@example.com')
    await smtp.mail(({ to }) => to[0] === 'ada@example.com')
    const failure = await eventually('a failure', () => failures(service)[0])
    expect(failure).to.include({ error: 'MailRefused', where: 'RCPT TO: 550 5.1.1', outcome: 'buried', attempts: 1 })
    expect(service.logLines.join('')).to.not.contain('example.com')
  })

  it('makes a refused notice a dead letter with a reason', async () => {
    const smtp = await server({
      onMessage: ({ parsed }) =>
        parsed.subject === 'Your password was changed – Portcullis'
          ? { status: 554, text: '5.7.1 Blocked: http://localhost/#token=abc for ada@example.com, ask ada or' }
          : null,
    })
    const service = await serviceAt(smtp.port)
    await register(service.url, 'ada@example.com')
    const asked = await call(service.url, 'POST', '/auth/forgot-password', { json: { email: 'ada@example.com' } })
    expect(asked.status).to.equal(202)
    const { token } = await service.event(({ event }) => event === 'on_after_forgot_password')
    await call(service.url, 'POST', '/auth/reset-password', { json: { token, password: `${goodPassword}!` } })
    await eventually('a dead letter', () => failures(service).some(({ outcome }) => outcome === 'buried'))
    const { out } = await portcullis(['events', 'list'], { env: { PORTCULLIS_DATA_FOLDER: service.dataFolder } })
    expect(JSON.parse(out)).to.include({
      type: 'password_reset',
      reason: 'MailRefused: DATA: 554 5.7.1 Blocked: for ask or',
    })
  })

  it('gets the message again after it has dropped the connection', async () => {
    let drops = 0
    const smtp = await server({ onMessage: () => (drops++ < 2 ? 'drop' : null) })
    const service = await serviceAt(smtp.port)
    await register(service.url, 'ada@example.com')
    const { parsed } = await smtp.mail(({ to }) => to[0] === 'ada@example.com')
    expect(parsed.messageId).to.match(/^<[0-9a-f-]{36}\.verify@localhost>$/)
    expect(drops).to.equal(3)
  })

  it('gets no message without TLS where TLS is required', async () => {
    const smtp = await server()
    const service = await serviceAt(smtp.port, { PORTCULLIS_MAIL__REQUIRE_TLS: 'true' })
    await register(service.url, 'ada@example.com')
    const failure = await eventually('a failure', () => failures(service)[0])
    expect(failure).to.include({ error: 'MailFailed', where: 'STARTTLS: 500' })
    expect(smtp.received).to.deep.equal([])
  })
})
