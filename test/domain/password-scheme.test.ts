import { expect } from 'chai'
import { passwordScheme } from '../../src/domain/password.ts'

describe('passwordScheme', () => {
  const examples = {
    '$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$aGFzaGhhc2g': '$argon2id$v=19$m=19456,t=2,p=1',
    '$argon2id$v=19$m=65536,t=3,p=4$c2FsdHNhbHQ$aGFzaGhhc2g': '$argon2id$v=19$m=65536,t=3,p=4',
    '$argon2i$m=19456,t=2,p=1$c2FsdHNhbHQ$aGFzaGhhc2g': '$argon2i$m=19456,t=2,p=1',
    '$2b$12$R9h/cIPz0gi.URNNX3kh2OPST9/PgBkqquzi.Ss7KIUgO2t0jWMUW': '$2b$12',
    '$2y$10$R9h/cIPz0gi.URNNX3kh2OPST9/PgBkqquzi.Ss7KIUgO2t0jWMUW': '$2y$10',
    '$scrypt$ln=17,r=8,p=1$c2FsdHNhbHQ$aGFzaGhhc2g': '$scrypt$ln=17,r=8,p=1',
  }

  for (const [hash, scheme] of Object.entries(examples)) {
    it(`finds algorithm and cost of ${scheme}, and neither salt nor digest`, () => {
      expect(passwordScheme(hash)).to.equal(scheme)
    })
  }

  it('is empty for a text that is no hash', () => {
    for (const text of ['', 'secret', 'se$cret$v=1']) expect(passwordScheme(text)).to.equal('')
  })
})
