import { dictionary } from '@zxcvbn-ts/language-common'
import { expect } from 'chai'
import { isCommonPassword } from '../../../src/adapters/crypto/common-passwords.ts'

describe('the list of common passwords', () => {
  it('contains every entry of the package, more than 10 000 of them long enough to be chosen', () => {
    const entries = dictionary['passwords-common'].map(String)
    expect(entries).to.have.length.greaterThan(49_000)
    expect(entries.filter((entry) => entry.length >= 8)).to.have.length.greaterThan(10_000)
    expect(entries.filter((entry) => !isCommonPassword(entry))).to.deep.equal([])
  })

  it('contains our own name, which an attacker guesses first', () => {
    expect(isCommonPassword('portcullis')).to.equal(true)
  })

  it('contains repeated characters and rows of characters, of any length', () => {
    for (const row of [
      '00000000',
      'aaaaaaaaaaaaaaaaa',
      '        ',
      '😀😀😀😀😀😀😀😀',
      'abcdefgh',
      '456789:;',
      'zyxwvutsrq',
    ]) {
      expect(isCommonPassword(row), row).to.equal(true)
    }
    for (const other of ['aaaaaaab', 'abcdefgi', 'acegikmo', 'abababab', 'x']) {
      expect(isCommonPassword(other), other).to.equal(false)
    }
  })

  it('does not contain a password that merely includes an entry', () => {
    expect(isCommonPassword('password')).to.equal(true)
    expect(isCommonPassword('a password of my own')).to.equal(false)
    expect(isCommonPassword('')).to.equal(false)
    for (const name of ['constructor', '__proto__', 'tostring']) expect(isCommonPassword(name), name).to.equal(false)
  })
})
