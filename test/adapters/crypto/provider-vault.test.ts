import { expect } from 'chai'
import { derivedKeys } from '../../../src/adapters/crypto/derived-keys.ts'
import { providerVault } from '../../../src/adapters/crypto/provider-vault.ts'
import { aUser } from '../../../src/testing/builders.ts'
import { goodSecret } from '../../support/services/settings.ts'

const vault = providerVault(derivedKeys(goodSecret).providerTokenKey)
const { id } = aUser()

describe("the vault of providers' tokens", () => {
  it('opens a token only for the user and provider it was sealed for', () => {
    for (const token of ['', 'a token', 'ä'.repeat(5000)]) {
      const sealed = vault.seal(token, id, 'acme')
      expect(vault.unseal(sealed, id, 'acme')).to.equal(token)
      expect(vault.unseal(sealed, aUser().id, 'acme')).to.equal(null)
      expect(vault.unseal(sealed, id, 'zeta')).to.equal(null)
    }
  })

  it('seals a token differently each time, and never readably', () => {
    const sealed = Array.from({ length: 100 }, () => vault.seal('a token to be kept', id, 'acme'))
    expect(new Set(sealed).size).to.equal(100)
    for (const one of sealed) expect(Buffer.from(one, 'base64url').toString('latin1')).to.not.include('a token')
  })

  it('opens no token that was changed, cut or sealed with another secret', () => {
    const sealed = vault.seal('a token', id, 'acme')
    const bytes = Buffer.from(sealed, 'base64url')
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes)
      changed[at] = (changed[at] ?? 0) ^ 1
      expect(vault.unseal(changed.toString('base64url'), id, 'acme')).to.equal(null)
    }
    for (const odd of ['', 'AAAA', `x${sealed}`, sealed.slice(0, -4)]) {
      expect(vault.unseal(odd, id, 'acme'), odd).to.equal(null)
    }
    const other = providerVault(derivedKeys(`${goodSecret}!`).providerTokenKey)
    expect(other.unseal(sealed, id, 'acme')).to.equal(null)
  })
})
