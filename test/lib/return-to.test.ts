import { expect } from 'chai'
import { checkedReturn } from '../../src/lib/return-to.ts'

const rules = { ownOrigin: 'https://accounts.example.com', allowedOrigins: ['https://app.example.com'] }

describe('the check of an address to return to', () => {
  for (const [given, expected] of [
    ['https://app.example.com/start?a=1#b', 'https://app.example.com/start?a=1#b'],
    ['HTTPS://APP.example.com', 'https://app.example.com/'],
    ['https://accounts.example.com/account', 'https://accounts.example.com/account'],
    ['/account', 'https://accounts.example.com/account'],
    ['/.//evil.example', 'https://accounts.example.com//evil.example'],
    ['/a@evil.example', 'https://accounts.example.com/a@evil.example'],
    ['/%2F%2Fevil.example', 'https://accounts.example.com/%2F%2Fevil.example'],
    ['/%5cevil.example', 'https://accounts.example.com/%5cevil.example'],
    [`/account?${'a'.repeat(2000)}`, `https://accounts.example.com/account?${'a'.repeat(2000)}`],
    ['/%09/evil.example', 'https://accounts.example.com/%09/evil.example'],
  ] as const) {
    it(`permits ${given}`, () => {
      expect(checkedReturn(given, rules)).to.equal(expected)
    })
  }

  for (const given of [
    null,
    '',
    'app.example.com',
    'account',
    'https://evil.example',
    'https://app.example.com.evil.example',
    'https://app.example.com:8443/',
    'http://app.example.com/',
    '//evil.example',
    '///evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    'https:\\\\evil.example',
    'https:evil.example',
    'https:/evil.example',
    'https://app.example.com\\@evil.example',
    'https://ada@app.example.com/',
    'https://ada:secret@app.example.com/',
    'https://app.example.com@evil.example/',
    'javascript:alert(1)',
    'JavaScript://app.example.com/%0aalert(1)',
    'data:text/html,x',
    ' https://app.example.com/',
    'https://app.example.com/ x',
    '/\t/evil.example',
    'java\nscript:alert(1)',
    'https://[::1',
    'blob:https://app.example.com/1',
    `https://app.example.com/${'a'.repeat(500)}`,
    `/account?${'a'.repeat(2048)}`,
    `https://app.example.com/${'ü'.repeat(200)}`, // six characters each in a URL
    'https://app.example.com%2eevil.example/',
    'https://app.example.com\u2028.evil.example/',
    'https://app.example.com。evil.example/',
    'https:/\t/evil.example/',
    'https://evil.example\\.app.example.com/',
    'https://evil.example#.app.example.com',
    '/\u0000/evil.example',
    '/\u00a0/evil.example',
    '//app.example.com',
    'null',
  ]) {
    it(`refuses ${JSON.stringify(given)?.slice(0, 60)}`, () => {
      expect(checkedReturn(given, rules)).to.equal(null)
    })
  }
})
