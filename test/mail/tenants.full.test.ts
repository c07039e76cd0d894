// Two tenants with senders, languages, names and links of their own, at one mail server.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { eventually } from '../support/eventually.ts'
import { call, goodPassword } from '../support/http/client.ts'
import { tokenIn } from '../support/scenes/mail.ts'
import { type SmtpStandIn, startSmtp } from '../support/servers/smtp.ts'
import { startTestService, type TestService } from '../support/services/service.ts'
import { scratchFolder } from '../support/services/spawned-service.ts'

const acme = {
  from: 'Acme Konten <konten@acme.example>',
  replyTo: 'hilfe@acme.example',
  language: 'de',
  links: { verify: 'https://app.acme.example/verify', reset: 'https://app.acme.example/reset' },
}
const globex = { from: 'Globex <accounts@globex.example>', language: 'en' }

describe('the mail of two tenants', () => {
  let smtp: SmtpStandIn
  let service: TestService

  before(async () => {
    smtp = await startSmtp()
    const templates = scratchFolder()
    const logo = join(templates, 'logo.png')
    await mkdir(join(templates, 'en'))
    const image = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
    await writeFile(logo, Buffer.from(image, 'base64'))
    const pages = { enabled: true, name: 'Acme GmbH', color: '#ffdd00', logo }
    await writeFile(join(templates, 'en', 'verify.txt'), 'Subject: Globex says hello\n\n{{link}}\n')
    service = await startTestService(
      { PORTCULLIS_MAIL__URL: `smtp://127.0.0.1:${smtp.port}`, PORTCULLIS_MAIL__EHLO: 'out.example.com' },
      {
        files: {
          'portcullis.config.json': {
            tenants: { by: 'path', list: { acme: { mail: acme, pages }, globex: { mail: { ...globex, templates } } } },
          },
        },
      },
    )
  })

  after(async () => {
    await service?.stop()
    await smtp?.kill()
  })

  it('carries nothing of the other one', async () => {
    const people = ['acme', 'globex'].flatMap((tenant) =>
      Array.from({ length: 5 }, (_, at) => ({ tenant, email: `person-${at}@of-${tenant}.example` })),
    )
    await Promise.all(
      people.map(async ({ tenant, email }) => {
        const json = { email, password: goodPassword }
        const answer = await call(service.urlOf(tenant), 'POST', '/auth/register', { json })
        expect(answer.status, answer.text).to.equal(201)
        await call(service.urlOf(tenant), 'POST', '/auth/forgot-password', { json: { email } })
      }),
    )
    await eventually('two messages for each', () => smtp.received.length === 2 * people.length)
    for (const { to, ehlo, source, parsed } of smtp.received) {
      expect(ehlo).to.equal('out.example.com')
      const isOfAcme = to[0]?.endsWith('@of-acme.example') ?? false
      const whole = `${source}${parsed.text}${parsed.html}`
      expect(whole).to.not.match(isOfAcme ? /globex/i : /acme/i)
      expect(parsed.attachments.map(({ contentId }) => contentId)).to.deep.equal(isOfAcme ? ['<logo@portcullis>'] : [])
      if (isOfAcme) {
        expect(parsed.subject).to.match(/ – Acme GmbH$/)
        expect(parsed.html).to.contain('background: #ffdd00; color: #000000').and.contain('cid:logo@portcullis')
      }
      expect(parsed.from?.address).to.equal(isOfAcme ? 'konten@acme.example' : 'accounts@globex.example')
      expect(parsed.text).to.contain(isOfAcme ? 'https://app.acme.example/' : `${service.urlOf('globex')}/account/`)
    }
    expect(smtp.connections()).to.be.at.most(3)
  })

  it('has tokens that the other one does not take', async () => {
    const mail = await smtp.mail(
      ({ to, parsed }) => to[0]?.endsWith('@of-acme.example') === true && /verify/.test(parsed.text ?? ''),
    )
    const json = { token: tokenIn(mail) }
    expect((await call(service.urlOf('globex'), 'POST', '/auth/verify', { json })).status).to.equal(400)
    expect((await call(service.urlOf('acme'), 'POST', '/auth/verify', { json })).status).to.equal(200)
  })
})
