import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { parseSender } from '../../../src/adapters/addresses/parse-sender.ts'
import { mailFaults } from '../../../src/cli/commands/tenants.ts'
import { senderOf } from '../../../src/config/composition/mail.ts'
import { loadSettings } from '../../../src/config/settings/load.ts'
import { settingsFolder } from '../../support/services/settings.ts'

describe('the settings of mail', () => {
  const folder = settingsFolder()

  it('are the mailbox where /try is on and no module handles events, elsewhere off', async () => {
    const { settings } = await folder.load()
    expect(settings.mail).to.deep.include({ url: 'mailbox:', language: 'en', verifyOnRegister: true })
    const module = await folder.write('handlers.mjs', '')
    const others = [
      { http: { publicUrl: 'https://example.com' } },
      { try: { enabled: false } },
      { handlers: { module } },
    ]
    for (const file of others) expect((await folder.load(file)).settings.mail.url).to.equal('off')
    expect((await loadSettings({ env: {}, cwd: folder.path, listens: false })).settings.mail.url).to.equal('off')
  })

  it('come from the environment, the address also from a file', async () => {
    const path = await folder.write('url', 'smtp://ada%40example.com:secret@mail.example.com\n')
    const { settings } = await folder.load(undefined, {
      PORTCULLIS_MAIL__URL_FILE: path,
      PORTCULLIS_MAIL__FROM: '"Acme, Inc." <Accounts@example.com>',
      PORTCULLIS_MAIL__REPLY_TO: 'help@example.com',
      PORTCULLIS_MAIL__REQUIRE_TLS: 'false',
      PORTCULLIS_MAIL__LINKS__VERIFY: 'https://app.example.com/verify',
      PORTCULLIS_MAIL__TEMPLATES: 'templates',
      PORTCULLIS_MAIL__LANGUAGE: 'de',
      PORTCULLIS_MAIL__VERIFY_ON_REGISTER: 'false',
      PORTCULLIS_MAIL__MESSAGES__PASSWORD_CHANGED: 'off',
    })
    expect(settings.mail).to.deep.include({
      url: 'smtp://ada%40example.com:secret@mail.example.com',
      from: '"Acme, Inc." <Accounts@example.com>',
      replyTo: 'help@example.com',
      requireTls: false,
      links: { verify: 'https://app.example.com/verify' },
      templates: join(folder.path, 'templates'),
      language: 'de',
      verifyOnRegister: false,
    })
    expect(settings.mail.messages).to.include({ verify: true, passwordChanged: false })
  })

  it('are faults without the address in the message', async () => {
    const mail = {
      url: 'smtp://user@secret-host',
      from: 'Acme <accounts>',
      replyTo: 'Acme <a@example.com>',
      links: { reset: 'https://example.com/#reset' },
      language: 'English!',
      messages: { verified: true },
    }
    const faults = await folder.faults({ mail })
    expect(faults.map(({ path, message }) => `${path} ${message}`).sort()).to.deep.equal([
      'mail.from must be an address with ASCII characters before the @, or a name with such an address: Acme <accounts@example.com>',
      'mail.language must be the tag of a language, such as en or de',
      'mail.links.reset must be the address of a page: http or https, without #',
      'mail.messages.verified no such setting',
      'mail.replyTo must be an address with ASCII characters before the @',
      'mail.url must have a user and a password, or neither',
    ])
  })

  it('refuse a mailbox without the page that shows it', async () => {
    expect(await folder.faults({ mail: { url: 'mailbox:' } })).to.deep.equal([])
    const [fault] = await folder.faults({ mail: { url: 'mailbox:' }, try: { enabled: false } })
    expect(fault).to.include({ path: 'mail.url' }).and.have.property('message').that.contains('try.enabled')
  })

  it('warn where tokens and passwords travel without TLS', async () => {
    const warnings = async (url: string) => (await folder.load({ mail: { url, requireTls: false } })).warnings
    expect(await warnings('smtp://mail.example.com')).to.have.length(1)
    for (const url of ['smtp://localhost', 'smtp://127.0.0.1:25', 'smtp://postfix']) {
      expect(await warnings(url)).to.deep.equal([])
    }
  })

  it('name the sender: as given, else the user of the server, else at the host of the service', async () => {
    const sender = async (mail: object, pages = {}) =>
      senderOf((await folder.load({ mail, pages })).settings, 'https://accounts.example.com')
    const url = 'smtp://ada%40example.com:secret@mail.example.com'
    expect(await sender({ url, from: 'Acme <a@example.com>' })).to.deep.equal({
      name: 'Acme',
      address: 'a@example.com',
    })
    expect(await sender({ url })).to.deep.equal({ name: null, address: 'ada@example.com' })
    expect(await sender({ url }, { name: 'Acme' })).to.deep.equal({ name: 'Acme', address: 'ada@example.com' })
    const other = { name: null, address: 'no-reply@accounts.example.com' }
    expect(await sender({ url: 'smtp://apikey:secret@mail.example.com' })).to.deep.equal(other)
  })

  it('name the client of EHLO: as given, else the host of the service, else the domain of the sender', async () => {
    const ehlo = async (publicUrl: string, mail: object = {}) =>
      (await folder.load({ http: { publicUrl }, mail })).settings.mail.ehlo
    const from = 'Acme <accounts@bücher.example>'
    expect(await ehlo('https://accounts.example.com', { from })).to.equal('accounts.example.com')
    expect(await ehlo('https://accounts.example.com', { from, ehlo: 'out.example.com' })).to.equal('out.example.com')
    for (const host of ['localhost:3000', 'acme.localhost', 'accounts', '192.0.2.7', '[2001:db8::7]']) {
      expect(await ehlo(`http://${host}`, { from })).to.equal('xn--bcher-kva.example')
      expect(await ehlo(`http://${host}`)).to.equal(undefined)
    }
    const [fault] = await folder.faults({ mail: { ehlo: 'mail server' } })
    expect(fault).to.include({ path: 'mail.ehlo', message: 'must be a host name, such as mail.example.com' })
  })

  it('name the client of EHLO of a tenant: its own, else that of the whole service', async () => {
    const { tenants } = await folder.load({
      http: { publicUrl: 'https://example.com' },
      tenants: {
        by: 'host',
        list: {
          acme: { hosts: ['acme.example.com'], mail: { from: 'a@acme.example' } },
          bolt: { hosts: ['bolt.example.com'], mail: { ehlo: 'out.bolt.example' } },
        },
      },
    })
    const names = [...tenants.enabled].map(([id, { settings }]) => [id, settings.mail.ehlo])
    expect(names).to.deep.equal([
      ['acme', 'example.com'],
      ['bolt', 'out.bolt.example'],
    ])
  })

  it('are faults where templates cannot be used', async () => {
    await mkdir(join(folder.path, 'templates', 'en'), { recursive: true })
    await writeFile(join(folder.path, 'templates', 'en', 'reset.html'), '\n{{tokn}}')
    const mail = { url: 'smtp://mail.example.com', templates: 'templates' }
    const [fault] = await mailFaults(await folder.load({ mail }))
    expect(fault).to.include({ path: 'mail.templates', source: folder.source() })
    expect(fault?.message).to.contain('en/reset.html:2: {{tokn}} is no field of this message')
    const [other] = await mailFaults(await folder.load({ mail: { url: mail.url, language: 'fr' } }))
    expect(other).to.include({ path: 'mail.language', message: 'has no templates; there are templates in de, en' })
  })
})

describe('a sender', () => {
  for (const [text, expected] of [
    ['a@example.com', { name: null, address: 'a@example.com' }],
    ['Acme <a@example.com>', { name: 'Acme', address: 'a@example.com' }],
    ['"Acme, Inc." <a@example.com>', { name: 'Acme, Inc.', address: 'a@example.com' }],
    ['<a@example.com>', { name: null, address: 'a@example.com' }],
    ['Acme\r\nBcc: b@example.com <a@example.com>', null],
    ['a@example.com, b@example.com', null],
    ['jürgen@example.com', null],
    ['Jürgen <a@bücher.example>', { name: 'Jürgen', address: 'a@bücher.example' }],
    ['Acme', null],
    ['', null],
  ] as const) {
    it(`${expected === null ? 'is not' : 'is'} ${JSON.stringify(text)}`, () => {
      expect(parseSender(text)).to.deep.equal(expected)
    })
  }
})
