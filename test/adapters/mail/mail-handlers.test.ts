import { expect } from 'chai'
import { mailHandlers } from '../../../src/adapters/mail/mail-handlers.ts'
import { messageNames } from '../../../src/adapters/mail/message-fields.ts'
import { loadTemplates, type Templates } from '../../../src/adapters/mail/templates.ts'
import type { HandlerCall } from '../../../src/application/ports/event-handlers.ts'
import { type Mail, MailRefused } from '../../../src/application/ports/mailer.ts'
import { nobody } from '../../../src/domain/actor.ts'
import type { Email } from '../../../src/domain/email.ts'
import type { UserChanges } from '../../../src/domain/events.ts'
import { unknownTraits } from '../../../src/domain/session.ts'
import { viewOf } from '../../../src/domain/user.ts'
import { aUser } from '../../../src/testing/builders.ts'
import type { RecordedCall } from '../../../src/testing/recorded-handlers.ts'
import { faultOf } from '../../support/fault-of.ts'

const ada = 'ada@example.com' as Email
const on = Object.fromEntries(messageNames.map((name) => [name, true])) as Record<
  (typeof messageNames)[number],
  boolean
>
const context = {
  eventId: 'event-1',
  requestId: 'request-1',
  languages: ['de-AT'],
  by: nobody,
  tenant: 'default',
  at: new Date(),
}
const traits = { network: '203.0.113.0/24', browser: 'Firefox', system: 'Linux' }

function aCall(type: HandlerCall['type'], more: Partial<RecordedCall> = {}, isVerified = true): RecordedCall {
  // Safe: each test gives the own data of the type.
  return { type, user: viewOf(aUser({ email: ada, isVerified })), context, ...more } as RecordedCall
}

function ownDeletion(isVerified = true, type: 'user' | 'superuser' = 'user'): RecordedCall {
  const call = aCall('deleted', {}, isVerified)
  return { ...call, context: { ...context, by: { type, id: call.user.id, sid: null } } } as RecordedCall // safe: as `aCall`
}

const inLogin = (call: RecordedCall): RecordedCall => {
  const by = { type: 'user', id: call.user.id, sid: 'login' }
  return { ...call, context: { ...call.context, by } } as RecordedCall // safe: as `aCall`
}
const updated = (changes: UserChanges, isVerified = true) => aCall('updated', { changes }, isVerified)

describe('mail as a handler', () => {
  let templates: Templates
  before(async () => {
    templates = await loadTemplates(null)
  })

  function handlers(more: Partial<Parameters<typeof mailHandlers>[0]> = {}) {
    const sent: Mail[] = []
    const own = mailHandlers({
      mailer: {
        async send(mail) {
          sent.push(mail)
          return '250 OK'
        },
      },
      templates,
      from: { name: 'Acme', address: 'accounts@example.com' as Email },
      replyTo: 'help@example.com' as Email,
      service: 'Acme',
      support: 'help@example.com' as Email,
      color: null,
      logo: null,
      page: (purpose) => `https://example.com/${purpose}`,
      providerTitle: (name) => name.toUpperCase(),
      lifetimes: { verify_email: 86_400, reset_password: 900 },
      language: 'en',
      isOn: on,
      ...more,
    })
    return { own, sent, names: () => sent.map(({ id, to }) => [id.replace('event-1.', ''), to]) }
  }

  it('shows colour and logo of the service, and carries the logo only where the layout shows it', async () => {
    const logo = {
      cid: 'logo@portcullis',
      fileName: 'logo.png',
      type: 'image/png',
      content: new Uint8Array([1]),
    } as const
    const { own, sent } = handlers({ logo, color: '#ffdd00' })
    await own.call(aCall('password_reset'), 1)
    expect(sent[0]?.images).to.deep.equal([logo])
    expect(sent[0]?.html)
      .to.include('<img src="cid:logo@portcullis" alt=""')
      .and.include('.card .button { background: #ffdd00; color: #000000; }')
    const plain: Templates = {
      ...templates,
      render: (...args) => ({ ...templates.render(...args), html: '<p>without an image</p>' }),
    }
    const other = handlers({ logo, templates: plain })
    await other.own.call(aCall('password_reset'), 1)
    expect(other.sent[0]?.images).to.deep.equal([])
  })

  it('sends the link of a token in the language of the request, with its life', async () => {
    const { own, sent } = handlers()
    await own.call(aCall('verification_requested', { token: 'abc' }, false), 1)
    await own.call(aCall('reset_requested', { token: 'xyz', context: { ...context, languages: ['fr'] } }), 1)
    const [verify, reset] = sent
    expect(verify).to.include({ id: 'event-1.verify', to: ada, subject: 'Bestätigen Sie Ihre Adresse – Acme' })
    expect(verify?.text).to.contain('https://example.com/verify_email#token=abc').and.contain('24 Stunden')
    expect(reset).to.include({ id: 'event-1.reset', to: ada, subject: 'Choose a new password – Acme' })
    expect(reset?.text).to.contain('https://example.com/reset_password#token=xyz').and.contain('15 minutes')
    for (const mail of sent) {
      expect(mail.from).to.deep.equal({ name: 'Acme', address: 'accounts@example.com' })
      expect(mail.replyTo).to.equal('help@example.com')
    }
  })

  it('invites to the page of a reset, with the time at which the link ends', async () => {
    const { own, sent } = handlers()
    const expiresAt = new Date('2026-12-05T10:00:00Z')
    await own.call(aCall('invited', { token: 'abc', expiresAt }, false), 1)
    await own.call(aCall('invited', { token: 'abc', expiresAt, context: { ...context, languages: ['en'] } }, false), 1)
    expect(sent.map(({ id, to, subject }) => [id, to, subject])).to.deep.equal([
      ['event-1.invitation', ada, 'Ihr neues Konto – Acme'],
      ['event-1.invitation', ada, 'Your new account – Acme'],
    ])
    expect(sent[0]?.text).to.contain('/invite#token=abc').and.contain('05.12.2026, 10:00 UTC')
    expect(sent[1]?.text).to.contain('/invite#token=abc').and.contain('5 Dec 2026, 10:00 UTC')
  })

  it('tells about changes of the account, about a new address at the old one', async () => {
    const link = { provider: 'google', accountEmail: 'ada@gmail.example' }
    const previousEmail = 'old@example.com' as Email
    for (const [call, expected] of [
      [aCall('password_reset', {}, false), [['passwordChanged', ada]]],
      [updated({ password: true }), [['passwordChanged', ada]]],
      [updated({ passwordRemoved: true }), [['passwordChanged', ada]]],
      [updated({ email: ada, previousEmail, isVerified: false }, false), [['addressChanged', previousEmail]]],
      [
        updated({ email: ada, previousEmail, isVerified: false, password: true }, false),
        [['addressChanged', previousEmail]],
      ],
      [updated({ email: ada, previousEmail }), [['addressChanged', previousEmail]]],
      [updated({ email: ada, previousEmail: 'ADA@example.com' as Email }), []],
      [updated({ oauthLinked: link }), [['accountLinked', ada]]],
      [updated({ oauthUnlinked: link }), [['accountUnlinked', ada]]],
      [updated({ factorAdded: 'totp' }), [['secondFactorChanged', ada]]],
      [updated({ factorRemoved: 'all' }, false), [['secondFactorChanged', ada]]],
      [inLogin(updated({ factorRemoved: 'all' }, false)), []],
      [updated({ recoveryCodeUsed: 2 }), [['secondFactorChanged', ada]]],
      [updated({ factorsKept: true }), [['secondFactorChanged', ada]]],
      [updated({ passkeyCounterWentBack: true }), [['secondFactorChanged', ada]]],
      [aCall('invited', { token: 'xyz', expiresAt: new Date() }, false), [['invitation', ada]]],
      [updated({ password: true, isVerified: true }), []],
      [aCall('factor_reset_started', { token: 'xyz', removesAt: new Date() }, false), [['secondFactorReset', ada]]],
      [aCall('second_factor_refused', { traits }), [['secondFactorRefused', ada]]],
      [aCall('second_factor_refused', { traits }, false), []],
      [aCall('inactive_sign_in'), [['inactiveSignIn', ada]]],
      [aCall('inactive_sign_in', {}, false), []],
      [updated({ isSuperuser: true }), []],
      [updated({ loggedOutEverywhere: true }), []],
      [aCall('new_sign_in', { traits }), [['newSignIn', ada]]],
      [ownDeletion(), [['accountDeleted', ada]]],
      [ownDeletion(true, 'superuser'), [['accountDeleted', ada]]],
      [aCall('deleted'), []],
    ] as const) {
      const { own, sent, names } = handlers()
      await own.call(call, 1)
      expect(names()).to.deep.equal(expected)
      if (call.changes?.passwordRemoved) expect(sent[0]?.subject).to.equal('Ihr Passwort wurde entfernt – Acme')
      else if (names()[0]?.[0] === 'passwordChanged')
        expect(sent[0]?.subject).to.equal('Ihr Passwort wurde geändert – Acme')
      if (call.changes?.recoveryCodeUsed === 2) expect(sent[0]?.text).to.contain('Übrige Codes: 2. Bitte ersetzen')
      if (call.changes?.oauthLinked) expect(sent[0]?.text).to.contain('Mit dem GOOGLE-Konto ada@gmail.example')
    }
  })

  it('tells an unverified address about no change, because it may belong to somebody else', async () => {
    const { own, sent } = handlers()
    const link = { provider: 'google', accountEmail: 'ada@gmail.example' }
    const previousEmail = 'victim@example.com' as Email
    await own.call(updated({ email: ada, previousEmail }, false), 1)
    await own.call(updated({ email: ada, previousEmail, isVerified: true }), 1)
    await own.call(updated({ password: true }, false), 1)
    await own.call(updated({ passwordRemoved: true }, false), 1)
    await own.call(updated({ oauthLinked: link }, false), 1)
    await own.call(aCall('new_sign_in', { traits }, false), 1)
    await own.call(ownDeletion(false), 1)
    expect(sent).to.deep.equal([])
  })

  it('names whom to tell about a change of the address, which may not be the sender', async () => {
    const call = (language: string) => ({
      ...updated({ email: ada, previousEmail: 'old@example.com' as Email }),
      context: { ...context, languages: [language] },
    })
    const { own, sent } = handlers({ support: null })
    for (const language of ['en', 'de']) await own.call(call(language), 1)
    for (const body of ['text', 'html'] as const) {
      expect(sent[0]?.[body]).to.contain('Tell the people who run Acme at once.')
      expect(sent[1]?.[body]).to.contain('Wenden Sie sich sofort an die Betreiber von Acme.')
    }
    const answered = handlers()
    await answered.own.call(call('en'), 1)
    expect(answered.sent[0]?.text)
      .to.contain('Write to help@example.com at once.')
      .and.not.contain('the people who run')
  })

  it('names one place that can remove a factor of a stranger', async () => {
    const call = (language: string) => ({
      ...updated({ factorAdded: 'totp' }),
      context: { ...context, languages: [language] },
    })
    const { own, sent } = handlers({ support: null })
    const answered = handlers()
    for (const language of ['en', 'de']) {
      await own.call(call(language), 1)
      await answered.own.call(call(language), 1)
    }
    for (const body of ['text', 'html'] as const) {
      expect(sent[0]?.[body]).to.contain('so ask the operator of the service to remove it.')
      expect(sent[1]?.[body]).to.contain('Bitten Sie also den Betreiber des Dienstes, ihn zu entfernen.')
    }
    expect(answered.sent[0]?.text)
      .to.contain('so write to help@example.com to get it removed.')
      .and.not.match(/operator|Then write/)
    expect(answered.sent[1]?.text)
      .to.contain('Schreiben Sie also an help@example.com, damit er entfernt wird.')
      .and.not.match(/Betreiber|Schreiben Sie dann/)
  })

  it('tells where and when somebody signed in by a new browser, as far as it is known', async () => {
    const { own, sent } = handlers()
    await own.call(aCall('new_sign_in', { traits }), 1)
    expect(sent[0]?.subject).to.equal('Neue Anmeldung in Ihrem Konto – Acme')
    expect(sent[0]?.text).to.contain('Browser: Firefox\nSystem: Linux\nNetz: 203.0.113.0/24\n')
    expect(sent[0]?.text).to.match(/Zeit: \d\d\.\d\d\.\d{4}, \d\d:\d\d UTC/)
    await own.call(aCall('new_sign_in', { traits: unknownTraits, context: { ...context, languages: ['en'] } }), 1)
    expect(sent[1]?.text).to.match(/Time: \d+ \w+ \d{4}, \d\d:\d\d UTC\n\nIf you did this/)
  })

  it('leaves out each message that is switched off', async () => {
    const calls = {
      verify: aCall('verification_requested', { token: 'a' }, false),
      reset: aCall('reset_requested', { token: 'a' }),
      invitation: aCall('invited', { token: 'a', expiresAt: new Date() }, false),
      passwordChanged: aCall('password_reset'),
      addressChanged: updated({ email: ada, previousEmail: 'old@example.com' as Email }),
      accountLinked: updated({ oauthLinked: { provider: 'acme', accountEmail: 'a' } }),
      accountUnlinked: updated({ oauthUnlinked: { provider: 'acme', accountEmail: 'a' } }),
      secondFactorChanged: updated({ factorRemoved: 'totp' }),
      secondFactorReset: aCall('factor_reset_started', { token: 'a', removesAt: new Date() }),
      secondFactorRefused: aCall('second_factor_refused', { traits }),
      newSignIn: aCall('new_sign_in', { traits }),
      inactiveSignIn: aCall('inactive_sign_in'),
      accountDeleted: ownDeletion(),
    }
    for (const off of messageNames) {
      const { own, sent } = handlers({ isOn: { ...on, [off]: false } })
      for (const call of Object.values(calls)) if (own.handles(call.type)) await own.call(call, 1)
      expect(sent.map(({ id }) => id)).to.deep.equal(
        messageNames.filter((name) => name !== off).map((name) => `event-1.${name}`),
      )
    }
  })

  it('fails when the message was not taken', async () => {
    const refused = new MailRefused('RCPT TO: 550')
    const { own } = handlers({ mailer: { send: () => Promise.reject(refused) } })
    expect(await faultOf(own.call(aCall('password_reset'), 1))).to.equal(refused)
  })
})
