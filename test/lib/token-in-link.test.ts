import { expect } from 'chai'
import { tokenInLink } from '../../src/lib/token-in-link.ts'

const token = `-_${'aZ9'.repeat(13)}bc`
const [head, tail] = [token.slice(0, 20), token.slice(20)]
const page = 'https://accounts.example.com/t/acme/account/reset'

describe('tokenInLink', () => {
  for (const text of [
    `${page}#token=${token}`,
    `#token=${token}`,
    `${page}?token=${token}`,
    `${page}?return_to=%2Fa#token=${token}&utm_source=mail`,
    `${page}%23token=${token}`,
    `${page}%23token%3D${token}`,
    `${page}%2523token%253D${token}`,
    `<${page}#token=3D${token}>`,
    ...['.', '>', '%3E', '&gt;', ')', '"', ' and more', '=', '=20', '…'].map((end) => `${page}#token=${token}${end}`),
    ...['=\r\n', '=\n', '=', '%0A', '=%0D%0A', '\u00ad', '\u200b'].map((gap) => `${page}#token=${head}${gap}${tail}`),
    `Hello Ada,\nplease open this link:\n${page}#tok=\nen=3D${head}=\n${tail}\nIt works for an hour.`,
    ` ${token}\n`,
    `${token}.`,
  ]) {
    it(`finds the token in ${JSON.stringify(text)}`, () => {
      expect(tokenInLink(text)).to.equal(token)
    })
  }

  it('finds a token that begins like an encoded sign', () => {
    const likely = token.replace('-_', '3D')
    for (const end of ['', '.', '>']) expect(tokenInLink(`${page}#token=${likely}${end}`), end).to.equal(likely)
  })

  for (const text of [
    '',
    page,
    `${page}#token=`,
    `${page}#token=${token.slice(0, 42)}`,
    `${page}#other=${token}`,
    `${page}#%E0%A4%A`,
    `https://tracker.example/${token}`,
  ]) {
    it(`finds no token in ${JSON.stringify(text)}`, () => {
      expect(tokenInLink(text)).to.equal(null)
    })
  }
})
