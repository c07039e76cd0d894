import { expect } from 'chai'
import { acceptedLanguages, bestLanguage } from '../../src/lib/languages.ts'

describe('the languages of a request', () => {
  for (const [header, expected] of [
    [undefined, []],
    ['', []],
    ['de', ['de']],
    ['de-CH, de;q=0.9, en;q=0.8, *;q=0.5', ['de-CH', 'de', 'en']],
    ['en;q=0.2, fr ;Q=0.7,de', ['de', 'fr', 'en']],
    ['en;q=0, de', ['de']],
    ['<script>, en_US, x"y, de;q=high, fr', ['fr']],
    ['aa,bb,cc,dd,ee,ff', ['aa', 'bb', 'cc', 'dd', 'ee']],
    ['a'.repeat(10_000), []],
  ] as const) {
    it(`are ${expected.join(', ') || 'none'} for ${String(header).slice(0, 40)}`, () => {
      expect(acceptedLanguages(header)).to.deep.equal(expected)
    })
  }

  it('match an available language also in a shorter form', () => {
    expect(bestLanguage(['fr', 'de-CH-1996', 'en'], ['en', 'de'])).to.equal('de')
    expect(bestLanguage(['pt-br'], ['pt-BR', 'pt'])).to.equal('pt-BR')
    expect(bestLanguage(['fr'], ['en', 'de'])).to.equal(null)
    expect(bestLanguage([], ['en'])).to.equal(null)
  })
})
