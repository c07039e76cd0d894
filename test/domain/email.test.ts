import { domainToUnicode } from 'node:url'
import { expect } from 'chai'
import fc from 'fast-check'
import {
  type Email,
  emailKey,
  localPart,
  mailboxKey,
  objectionToNewAddress,
  parseEmail,
} from '../../src/domain/email.ts'

const parse = (text: string) => parseEmail(text, domainToUnicode)

function accepted(text: string): Email {
  const parsed = parse(text)
  if (!('email' in parsed)) throw new Error(`${JSON.stringify(text)}: ${parsed.objection}`)
  return parsed.email
}

const keyOf = (text: string) => emailKey(accepted(text))

describe('an e-mail address', () => {
  it('is parsed in linear time', () => {
    const judgedIn = (text: string): number => {
      const began = performance.now()
      parse(text)
      return performance.now() - began
    }
    for (const text of [
      `a${' '.repeat(100_000)}b`,
      ' '.repeat(100_000),
      '@'.repeat(100_000),
      `a@${'b.'.repeat(50_000)}`,
      `a${'\u0300'.repeat(50_000)}${'\u0323'.repeat(50_000)}@example.com`, // normalisation sorts the marks
    ]) {
      expect(judgedIn(text), text.slice(0, 3)).to.be.below(5_000) // quadratic: some ten seconds
    }
  })

  it('keeps its local part and shows its domain in lower case and Unicode', () => {
    expect(accepted("  Jürgen.O'Neil+tag@Example.COM ")).to.equal("Jürgen.O'Neil+tag@example.com")
    expect(accepted('a@BÜCHER.example')).to.equal('a@bücher.example')
    expect(accepted('a@xn--bcher-kva.example')).to.equal('a@bücher.example')
    expect(accepted('a@faß.example')).to.equal('a@faß.example')
    expect(localPart(accepted('King.Arthur@camelot.bt'))).to.equal('King.Arthur')
  })

  it('may have white space and bidi marks around it, and not inside', () => {
    const marks = [
      '\t',
      '\r\n',
      '\u0085',
      '\u00a0',
      '\u2003',
      '\u2028',
      '\u3000',
      '\ufeff',
      '\u061c',
      '\u200e',
      '\u200f',
    ]
    for (const mark of [...marks, '\u202a', '\u202c', '\u202e', '\u2066', '\u2069']) {
      const name = JSON.stringify(mark)
      expect(accepted(`${mark} ada@example.com${mark}${mark}`), name).to.equal('ada@example.com')
      for (const inside of [`a${mark}da@example.com`, `ada${mark}@example.com`, `ada@${mark}example.com`]) {
        expect(parse(inside), JSON.stringify(inside)).to.have.property('objection')
      }
    }
    expect(parse('ada\u200b@example.com'), 'a character without width').to.have.property('objection')
    expect(parse('ada@example.com\u200b'), 'a character without width').to.have.property('objection')
  })

  it('is refused as a new one if a mail server could deliver it to another mailbox', () => {
    for (const local of ['=?utf-8?q?ada=40evil.example=3e?=', 'x=??=', 'ada%evil.example', 'evil.example!ada']) {
      expect(objectionToNewAddress(accepted(`${local}@example.com`)), local).to.match(/another address/)
    }
    for (const local of ['ada+x', 'a=b', 'what?', '=?x', '?=x=?', "o'neil", 'a#b$c&d*e/f^g`h{i|j}k~']) {
      expect(objectionToNewAddress(accepted(`${local}@example.com`)), local).to.equal(null)
    }
  })

  it('is refused as a new one if its local part is too long, or has characters that users cannot distinguish', () => {
    for (const local of ['x'.repeat(65), 'é'.repeat(33)]) {
      expect(objectionToNewAddress(accepted(`${local}@example.com`)), local).to.match(/too long \(at most 64 bytes\)/)
    }
    for (const local of ['ﬁ', 'x²', 'ａda', '％', 'a．b']) {
      const email = accepted(`${local}@example.com`)
      expect(objectionToNewAddress(email), local).to.match(/not allowed/)
      expect(keyOf(email), local).not.to.equal(keyOf(email.normalize('NFKC')))
    }
    expect(objectionToNewAddress(accepted(`${'x'.repeat(64)}@example.com`))).to.equal(null)
  })

  it('shares the mailbox with every other suffix', () => {
    for (const local of ['ada+', 'ada+1', 'ADA+a+b']) {
      expect(mailboxKey(keyOf(`${local}@example.com`)), local).to.equal('ada+@example.com')
    }
    expect(mailboxKey(keyOf('ada@example.com'))).to.equal('ada@example.com')
  })

  it('has one key for all its spellings', () => {
    expect(keyOf('King.Arthur@Camelot.BT')).to.equal('king.arthur@camelot.bt')
    expect(keyOf('a@bücher.example')).to.equal('a@xn--bcher-kva.example')
    expect(keyOf('a@bu\u0308cher.example')).to.equal(keyOf('A@XN--BCHER-KVA.example'))
    expect(keyOf('a@bücher。example')).to.equal(keyOf('a@bücher.example'))
    expect(keyOf('a@ｅxample.com')).to.equal(keyOf('a@example.com'))
    expect(keyOf('jose\u0301@example.com')).to.equal(keyOf('JOSÉ@example.com'))
  })

  it('has one key for every form of sigma', () => {
    for (const local of ['Oσ', 'OΣ', 'Oς', 'oΣ', 'oς']) expect(keyOf(`${local}@example.com`)).to.equal('oσ@example.com')
    expect(keyOf('ΟΔΟΣ.ΟΔΟΣ@example.com')).to.equal(keyOf('οδος.οδοσ@example.com'))
  })

  it('has one key for both cases of a letter, in every script', () => {
    const letters = Array.from({ length: 0x20000 }, (_, code) => code)
      .filter((code) => code < 0xd800 || code > 0xdfff)
      .map((code) => String.fromCodePoint(code))
      .filter((one) => one !== one.toLowerCase() && one === one.normalize('NFKC'))
    expect(letters.length).to.be.greaterThan(1_000)
    for (const one of letters) expect(keyOf(`x${one.toLowerCase()}@a.bt`), one).to.equal(keyOf(`x${one}@a.bt`))
  })

  it('keeps punycode when the decoded domain would have another key', () => {
    expect(accepted('a@xn---2zvn7q.example')).to.equal('a@xn---2zvn7q.example')
    expect(keyOf('a@xn---2zvn7q.example')).not.to.equal(keyOf('a@xn--2zvn7q.example'))
  })

  it('has another key for another mailbox', () => {
    const addresses = [
      'a@example.com',
      'b@example.com',
      'a@example.org',
      'а@example.com',
      'ß@example.com',
      'ss@example.com',
    ]
    expect(new Set(addresses.map(keyOf)).size).to.equal(6)
  })

  const refused: readonly (readonly [string, RegExp])[] = [
    ['', /must have an @-sign/],
    ['plain', /must have an @-sign/],
    ['@example.com', /something before/],
    ['a@', /something after/],
    ['a@@example.com', /exactly one/],
    ['a@x.example,b@y.example', /exactly one/],
    ['a@localhost', /should have a period/],
    ['a＠b@example.com', /not allowed/],
    ['a＜b@example.com', /not allowed/],
    ['a´b@example.com', /not allowed/],
    ['a@b＠example.com', /not a valid domain/],
    ['a@example.com／x', /not a valid domain/],
    ['a@exa%6dple.com', /not a valid domain/],
    ['a@[127.0.0.1]', /not a valid domain/],
    ['a@127.0.0.1', /not a valid domain/],
    ['a@example.123', /not a valid domain/],
    ['a@-example.com', /not a valid domain/],
    ['a@ex_ample.com', /not a valid domain/],
    ['a@example..com', /not a valid domain/],
    ['a@example.com.', /not a valid domain/],
    ['a@xn--a.example', /not a valid domain/],
    ['a@exam\u200bple.com', /not a valid domain/],
    [`a@${'x'.repeat(64)}.example`, /not a valid domain/],
    ['"a"@example.com', /not allowed/],
    ['a(comment)@example.com', /not allowed/],
    ['a\\b@example.com', /not allowed/],
    ['a,b@example.com', /not allowed/],
    ['a<b>@example.com', /not allowed/],
    ['a\r\nBcc:b@example.com', /not allowed/],
    ['a\u0000@example.com', /not allowed/],
    ['a\u200bb@example.com', /not allowed/],
    ['a\u202eb@example.com', /not allowed/],
    ['a\u034fb@example.com', /not allowed/],
    ['a\u3164@example.com', /not allowed/],
    ['a\ud800@example.com', /not allowed/],
    ['\u0301a@example.com', /combining/],
    ['a.@example.com', /period/],
    ['a..b@example.com', /period/],
    [`a@${'x.'.repeat(125)}example`, /too long|not a valid domain/],
  ]
  for (const [text, objection] of refused) {
    it(`is not ${JSON.stringify(text).slice(0, 60)}`, () => {
      const parsed = parse(text)
      expect(parsed).to.have.property('objection').that.matches(objection)
    })
  }

  it('may be as long as SMTP allows, and no longer', () => {
    const domain = `${`${'y'.repeat(61)}.`.repeat(3)}zyx`
    expect(domain).to.have.length(189)
    expect(accepted(`${'x'.repeat(64)}@${domain}`)).to.have.length(254)
    for (const long of [`${'x'.repeat(64)}@a${domain}`, `${'x'.repeat(243)}@example.com`]) {
      expect(parse(long))
        .to.have.property('objection')
        .that.matches(/too long/)
    }
  })

  const someText = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 30 }),
    fc
      .tuple(
        fc.string({ unit: 'binary', minLength: 1, maxLength: 8 }),
        fc.string({ unit: 'binary', minLength: 1, maxLength: 8 }),
      )
      .map(([local, label]) => `${local}@${label}.example`),
    fc.emailAddress(),
    fc
      .tuple(fc.emailAddress(), fc.constantFrom('İ', 'ß', 'Σ', 'ς', 'K', 'ſ', '\u0307', '\u0301', 'ﬁ', '한', 'xn--'))
      .chain(([address, piece]) =>
        fc.nat(address.length).map((at) => address.slice(0, at) + piece + address.slice(at)),
      ),
  )

  it('stays the same when it is parsed again, and so does its key (5 000 texts)', () => {
    let reached = 0
    fc.assert(
      fc.property(someText, (text) => {
        const parsed = parse(text)
        if (!('email' in parsed)) return
        reached += 1
        expect(accepted(parsed.email)).to.equal(parsed.email)
        expect(parsed.email).to.match(/^[^@]+@[^@]+\.[^@]+$/u)
        const key = emailKey(parsed.email)
        expect(key).to.match(/^[^@]+@[a-z0-9.-]+$/u)
        expect(keyOf(parsed.email.normalize('NFD'))).to.equal(key)
      }),
      { numRuns: 5000 },
    )
    expect(reached).to.be.greaterThan(1000)
  })
})
