import { expect } from 'chai'
import { parseMailUrl } from '../../../src/adapters/mail/mail-url.ts'

describe('the address of the mail server', () => {
  for (const [text, expected] of [
    ['smtp://mail.example.com', { kind: 'smtp', host: 'mail.example.com', port: 587, isTlsFirst: false, login: null }],
    [
      'smtps://ada%40example.com:p%40ss%2Fword@mail.example.com',
      {
        kind: 'smtp',
        host: 'mail.example.com',
        port: 465,
        isTlsFirst: true,
        login: { user: 'ada@example.com', password: 'p@ss/word' },
      },
    ],
    ['smtp://[::1]:2525/', { kind: 'smtp', host: '::1', port: 2525, isTlsFirst: false, login: null }],
    ['file:///var/mail%20box', { kind: 'file', folder: '/var/mail box' }],
    ['mailbox:', { kind: 'mailbox' }],
    ['off', { kind: 'off' }],
  ] as const) {
    it(`reads ${text}`, () => {
      expect(parseMailUrl(text)).to.deep.equal(expected)
    })
  }

  for (const [text, objection] of [
    [
      'mail.example.com',
      'must be smtp://user:password@host:587, smtps://user:password@host, file:///folder, mailbox: or off',
    ],
    ['smtp://user:pa#ss@host', '# as %23'],
    ['smtp://user:pa/ss@host', '/ as %2F'],
    ['smtp://user:100%@host', '% as %25'],
    ['smtp://user@host', 'must have a user and a password, or neither'],
    ['smtp://host/?pool=true', 'must end after the port'],
    ['smtp://', 'must name a host'],
    ['smtp:host', 'must name a host'],
    ['smtp://host:465', 'must begin with smtps: on port 465'],
    ['smtps://host:587', 'must begin with smtp: on port 587'],
    ['smtps://host:25', 'must begin with smtp: on port 25'],
    ['https://host', 'must be smtp://'],
    ['file://folder/mails', 'must have three slashes'],
    ['file:///mails#1', 'write ? as %3F'],
    ['mailbox:///x', 'must be mailbox: with nothing after it'],
  ] as const) {
    it(`objects to ${text}`, () => {
      expect(parseMailUrl(text)).to.have.property('objection').that.includes(objection)
    })
  }
})
