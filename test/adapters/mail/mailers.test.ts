import { mkdir, readdir, readFile, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { expect } from 'chai'
import { fileMailer } from '../../../src/adapters/mail/file.ts'
import type { SmtpServer } from '../../../src/adapters/mail/mail-url.ts'
import { memoryMailbox } from '../../../src/adapters/mail/mailbox.ts'
import { type SmtpMailer, smtpMailer } from '../../../src/adapters/mail/smtp.ts'
import { type Mail, MailFailed, MailRefused } from '../../../src/application/ports/mailer.ts'
import type { Email } from '../../../src/domain/email.ts'
import { Unavailable } from '../../../src/domain/refusal.ts'
import { eventually } from '../../support/eventually.ts'
import { faultOf } from '../../support/fault-of.ts'
import { certificate } from '../../support/servers/certificate.ts'
import { listen } from '../../support/servers/ports.ts'
import { startSmtp } from '../../support/servers/smtp.ts'
import { scratchFolder } from '../../support/services/spawned-service.ts'

const to = 'grace@bücher.example' as Email

function aMail(fields: Partial<Mail> = {}): Mail {
  return {
    id: '0190-event.verify',
    from: { name: 'Acme, Inc.', address: 'accounts@example.com' as Email },
    replyTo: 'help@example.com' as Email,
    to,
    subject: 'Bestätigen Sie Ihre Adresse',
    text: 'https://example.com/verify#token=abc\n',
    html: '<p>ä</p>',
    ...fields,
  }
}

function plainServer(port: number, more: Partial<SmtpServer> = {}): SmtpServer {
  return { kind: 'smtp', host: '127.0.0.1', port, isTlsFirst: false, login: null, ...more }
}

describe('a message by SMTP', () => {
  const open: { close(): unknown }[] = []
  afterEach(() => {
    for (const one of open.splice(0)) one.close()
  })

  function mailer(options: Parameters<typeof smtpMailer>[0]): SmtpMailer {
    const made = smtpMailer({ timeoutSeconds: 20, ...options })
    open.push(made)
    return made
  }

  async function server(behaviour: Parameters<typeof startSmtp>[0] = {}) {
    const started = await startSmtp(behaviour)
    open.push({ close: () => started.kill() })
    return started
  }

  it('arrives with its headers, its text and its HTML', async () => {
    const smtp = await server()
    const answer = await mailer({ server: plainServer(smtp.port) }).send(aMail())
    expect(answer).to.match(/^250 /)
    const [{ to: recipients, parsed, source } = expect.fail('nothing arrived')] = smtp.received
    expect(recipients).to.deep.equal(['grace@bücher.example'])
    expect(parsed.from).to.include({ name: 'Acme, Inc.', address: 'accounts@example.com' })
    expect(parsed.replyTo?.map(({ address }) => address)).to.deep.equal(['help@example.com'])
    expect(parsed.messageId).to.equal('<0190-event.verify@example.com>')
    expect(parsed.subject).to.equal('Bestätigen Sie Ihre Adresse')
    expect(parsed.text).to.contain('https://example.com/verify#token=abc')
    expect(parsed.html).to.contain('<p>ä</p>')
    expect(source).to.match(/^Auto-Submitted: auto-generated\r$/m)
  })

  it('carries an image that its HTML shows, and no other attachment', async () => {
    const smtp = await server()
    const content = new Uint8Array([0x89, 0x50, 0x4e, 0x47])
    const images = [{ cid: 'logo@portcullis', fileName: 'logo.png', type: 'image/png', content }] as const
    await mailer({ server: plainServer(smtp.port) }).send(aMail({ html: '<img src="cid:logo@portcullis">', images }))
    const [{ parsed, source } = expect.fail('nothing arrived')] = smtp.received
    expect(source).to.match(/^Content-Type: multipart\/related/m)
    expect(
      parsed.attachments.map(({ contentId, mimeType, disposition }) => [contentId, mimeType, disposition]),
    ).to.deep.equal([['<logo@portcullis>', 'image/png', 'inline']])
    expect(new Uint8Array(parsed.attachments[0]?.content as ArrayBuffer)).to.deep.equal(content) // safe: the default of the parser
  })

  it('lets no line break and no further address out of its fields into a header', async () => {
    const smtp = await server()
    const evil = [
      'grace@example.com\r\nBcc: victim@example.org',
      'grace@example.com, victim@example.org',
      'Grace <victim@example.org>',
    ] as Email[]
    const from = { name: 'Acme\r\nBcc: victim@example.org', address: 'accounts@example.com' as Email }
    const subject = 'Hello\r\nBcc: victim@example.org'
    const sending = mailer({ server: plainServer(smtp.port) })
    for (const address of evil) {
      await faultOf(sending.send(aMail({ to: address }))) // this server refuses the quotes in which nodemailer puts it
      await sending.send(aMail({ replyTo: address, from, subject }))
    }
    expect(smtp.received.length).to.be.at.least(evil.length)
    for (const { parsed, to: recipients } of smtp.received) {
      expect(recipients).to.have.length(1).and.not.include('victim@example.org')
      expect(parsed.headers.map(({ key }) => key)).to.not.include('bcc')
      const named = [parsed.from, ...(parsed.to ?? []), ...(parsed.replyTo ?? [])]
      expect(named.map((one) => one?.address)).to.not.include('victim@example.org')
      expect(named).to.have.length(3)
    }
  })

  it('names the client in EHLO as it is told', async () => {
    const smtp = await server()
    await mailer({ server: plainServer(smtp.port), ehlo: 'accounts.example.com' }).send(aMail())
    expect(smtp.received.map(({ ehlo }) => ehlo)).to.deep.equal(['accounts.example.com'])
  })

  for (const tls of ['starttls', 'first', undefined] as const) {
    it(`to jürgen@ is refused for good before MAIL FROM by a server without SMTPUTF8 (TLS: ${tls})`, async () => {
      const login = { user: 'ada@example.com', password: 'p@ss word' }
      const to = 'jürgen@bücher.example' as Email
      const at = (port: number) => plainServer(port, { isTlsFirst: tls === 'first', login })
      const ascii = await server({ isAsciiOnly: true, login, ...(tls && { tls }) })
      const failure = await faultOf(mailer({ server: at(ascii.port), requiresTls: false }).send(aMail({ to })))
      const where = `the server does not offer SMTPUTF8, which the address of the recipient needs (127.0.0.1:${ascii.port})`
      expect(failure).to.be.instanceOf(MailRefused).and.to.include({ isFinal: true, where })
      expect([ascii.senders(), ascii.received.length]).to.deep.equal([0, 0])
      await mailer({ server: at(ascii.port), requiresTls: false }).send(aMail()) // bücher.example is punycode on the way
      expect(ascii.received).to.have.length(1)

      const able = await server({ login, ...(tls && { tls }) })
      await mailer({ server: at(able.port), requiresTls: false }).send(aMail({ to }))
      expect(able.received.map((one) => one.to)).to.deep.equal([[to]])
    })
  }

  it('to jürgen@ fails for the moment while the server is down, hangs or drops the connection', async () => {
    const to = 'jürgen@example.com' as Email
    const silent = createServer(() => {})
    const dropping = createServer((socket) => socket.destroy())
    open.push(silent, dropping)
    const attempt = async (port: number) =>
      await faultOf(mailer({ server: plainServer(port), timeoutSeconds: 0.5 }).send(aMail({ to })))
    for (const port of [await listen(silent), await listen(dropping), 1]) {
      expect(await attempt(port))
        .to.be.instanceOf(MailFailed)
        .and.to.have.property('isFinal', false)
    }
  })

  for (const [tls, isTlsFirst] of [
    ['starttls', false],
    ['first', true],
  ] as const) {
    it(`goes through a server that wants TLS (${tls}) and a login`, async () => {
      const login = { user: 'ada@example.com', password: 'p@ss word' }
      const smtp = await server({ tls, login })
      const at = (more: Partial<SmtpServer>) => plainServer(smtp.port, { isTlsFirst, login, ...more })
      const trusted = getCACertificates('default')
      const untrusted = await faultOf(mailer({ server: at({}), requiresTls: true }).send(aMail()))
      expect(untrusted).to.be.instanceOf(MailFailed).and.not.instanceOf(MailRefused)
      expect(untrusted).to.have.property('where', `CONN: DEPTH_ZERO_SELF_SIGNED_CERT (127.0.0.1:${smtp.port})`)

      setDefaultCACertificates([certificate().cert])
      open.push({ close: () => setDefaultCACertificates(trusted) })
      await mailer({ server: at({}), requiresTls: true }).send(aMail())
      expect(smtp.received).to.have.length(1)
      expect(smtp.logins).to.deep.equal(['ada@example.com'])
      const wrong = { user: 'ada@example.com', password: 'wrong' }
      const refused = await faultOf(mailer({ server: at({ login: wrong }), requiresTls: true }).send(aMail()))
      expect(refused).to.be.instanceOf(MailFailed).and.not.instanceOf(MailRefused)
      expect(refused).to.have.property('where', 'AUTH PLAIN: 535 5.7.8')
    })
  }

  it('is refused for good only by a 5xx to the recipient or to the message', async () => {
    const text = '5.1.1 nobody <grace@example.com>'
    const link = `Blocked: https://example.com/#token=abc ${'k'.repeat(43)} here`
    const replies = [
      [{ onRecipient: () => ({ status: 550, text }) }, 'RCPT TO: 550 5.1.1', 'nobody', true],
      [{ onMessage: () => ({ status: 554, text: `5.7.1 ${link}` }) }, 'DATA: 554 5.7.1', 'Blocked: here', true],
      [
        { onRecipient: () => ({ status: 450, text: '4.2.1 "Grace" (user.grace) is away' }) },
        'RCPT TO: 450 4.2.1',
        'is away',
        false,
      ],
      [{ onMessage: () => ({ status: 451, text: 'later' }) }, 'DATA: 451', 'later', false],
    ] as const
    for (const [behaviour, where, words, isFinal] of replies) {
      const smtp = await server(behaviour)
      const failure = await faultOf(mailer({ server: plainServer(smtp.port) }).send(aMail()))
      expect(failure).to.be.instanceOf(isFinal ? MailRefused : MailFailed)
      expect(failure).to.include({ isFinal, where, message: `${where} ${words}` })
    }
  })

  it('fails for the moment while the server is down, hangs or drops the connection', async () => {
    const smtp = await server({ onMessage: () => 'drop' })
    const at = `127.0.0.1:${smtp.port}`
    const dropped = await faultOf(mailer({ server: plainServer(smtp.port) }).send(aMail()))
    expect(dropped)
      .to.be.instanceOf(MailFailed)
      .and.to.include({ isFinal: false, where: `CONN: ECONNECTION (${at})` })

    const silent = createServer(() => {})
    open.push(silent)
    const port = await listen(silent)
    const late = await faultOf(mailer({ server: plainServer(port), timeoutSeconds: 0.2 }).send(aMail()))
    const where = `the server did not finish within 0.2 s (127.0.0.1:${port})`
    expect(late).to.be.instanceOf(MailFailed).and.to.include({ isFinal: false, where })

    await smtp.kill()
    const refused = await faultOf(mailer({ server: plainServer(smtp.port) }).send(aMail()))
    expect(refused)
      .to.be.instanceOf(MailFailed)
      .and.to.include({ isFinal: false, where: `CONN: ECONNREFUSED (${at})` })
  })

  it('waits for others at most one time-out, and goes on with the next connection', async () => {
    const smtp = await server({ onRecipient: (address) => (address.startsWith('slow') ? 'hang' : null) })
    const waiting = mailer({ server: plainServer(smtp.port), timeoutSeconds: 1 })
    const slow = Array.from({ length: 3 }, (_, at) =>
      faultOf(waiting.send(aMail({ to: `slow-${at}@example.com` as Email }))),
    )
    const third = faultOf(waiting.send(aMail()))
    for (const failure of await Promise.all(slow)) expect(failure).to.be.instanceOf(MailFailed)
    const outcome = await third
    const isLate = outcome instanceof MailFailed && outcome.message.startsWith('the server did not finish within 1 s') // on a busy machine
    expect(outcome === null || outcome instanceof Unavailable || isLate, String(outcome)).to.equal(true)
    await eventually('a message', async () => (await faultOf(waiting.send(aMail()))) === null)
  })

  it('ends at once when the mailer is closed', async () => {
    const smtp = await server({ onRecipient: () => 'hang' })
    const closing = smtpMailer({ server: plainServer(smtp.port) })
    const failure = faultOf(closing.send(aMail()))
    while (smtp.connections() === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    closing.close()
    expect(await failure).to.be.instanceOf(MailFailed)
    expect(await faultOf(closing.send(aMail()))).to.be.instanceOf(Unavailable)
  })
})

describe('a message into a folder', () => {
  it('is one file, which a repetition replaces', async () => {
    const folder = join(scratchFolder(), 'mail', 'out')
    const mailer = fileMailer(folder)
    await mailer.send(aMail())
    await mailer.send(aMail({ text: 'once more' }))
    expect(await readdir(folder)).to.deep.equal(['0190-event.verify.eml'])
    const path = join(folder, '0190-event.verify.eml')
    expect(await readFile(path, 'utf8')).to.contain('once more')
    expect((await stat(path)).mode & 0o777).to.equal(0o600)
  })

  it('leaves no part of itself after a failure', async () => {
    const folder = scratchFolder()
    await mkdir(join(folder, '0190-event.verify.eml'))
    expect(await faultOf(fileMailer(folder).send(aMail()))).to.be.instanceOf(MailFailed)
    expect(await readdir(folder)).to.deep.equal(['0190-event.verify.eml'])
  })

  it('fails for the moment where nothing can be written', async () => {
    const failure = await faultOf(fileMailer('/proc/mail').send(aMail()))
    expect(failure).to.be.instanceOf(MailFailed).and.to.have.property('isFinal', false)
  })
})

describe('a message into the mailbox', () => {
  it('is kept with the last hundred, the newest first', async () => {
    const mailbox = memoryMailbox(() => new Date(0))
    for (let at = 1; at <= 103; at++) await mailbox.send(aMail({ subject: `${at}` }))
    const kept = mailbox.newestFirst()
    expect(kept).to.have.length(100)
    expect([kept[0]?.mail.subject, kept.at(-1)?.mail.subject, kept[0]?.number]).to.deep.equal(['103', '4', 103])
  })
})
