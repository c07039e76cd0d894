import argon2 from 'argon2'
import bcrypt from 'bcrypt'
import { expect } from 'chai'
import { argon2Hasher } from '../../../src/adapters/crypto/argon2-hasher.ts'
import { greatestCost } from '../../../src/adapters/crypto/cost-bounds.ts'
import { hashPool } from '../../../src/adapters/crypto/hash-pool.ts'
import { Unavailable } from '../../../src/domain/refusal.ts'
import { faultOf } from '../../support/fault-of.ts'
import { nativeHashesDuring, password, patientHasher, todays } from '../../support/scenes/hashes.ts'

const likeToday = { type: argon2.argon2id, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const
/** The default parameters of pwdlib, and so of fastapi-users. */
const likeFastapiUsers = { type: argon2.argon2id, memoryCost: 65_536, timeCost: 3, parallelism: 4 } as const

describe('hashing a password', () => {
  const hasher = patientHasher()

  it('makes a PHC string of argon2id with the parameters of today and a new salt of 16 bytes each time', async () => {
    const hashes = await Promise.all(Array.from({ length: 5 }, () => hasher.hash(password)))
    for (const hash of hashes) {
      const [, , , , salt = '', tag = ''] = hash.split('$')
      expect(hash.startsWith(`${todays}$`), hash).to.equal(true)
      expect(Buffer.from(salt, 'base64')).to.have.length(16)
      expect(Buffer.from(tag, 'base64')).to.have.length(32)
    }
    expect(new Set(hashes.map((hash) => hash.split('$')[4])).size).to.equal(5)
  })

  it('hashes the whole password after NFC normalisation', async () => {
    const hash = await hasher.hash('pâss\u0000wörd ﬁ ')
    expect(await hasher.verify('pa\u0302ss\u0000wo\u0308rd ﬁ ', hash)).to.equal('match')
    for (const other of ['pâss\u0000wörd ﬁ', 'pâss\u0000wörd fi ', 'pâss', 'Pâss\u0000wörd ﬁ ', 'pâss\u0001wörd ﬁ ']) {
      expect(await hasher.verify(other, hash), JSON.stringify(other)).to.equal('mismatch')
    }
  })

  it('reads the last byte of the longest password', async () => {
    const longest = 'x'.repeat(1024)
    const hash = await hasher.hash(longest)
    expect(await hasher.verify(longest, hash)).to.equal('match')
    expect(await hasher.verify(`${longest.slice(1)}y`, hash)).to.equal('mismatch')
  })

  it('refuses to hash a password that every policy refuses', async () => {
    for (const bad of ['x'.repeat(1025), 'half a pair \ud800']) {
      expect(await faultOf(hasher.hash(bad))).to.be.instanceOf(RangeError)
    }
  })
})

describe('verifying a password', () => {
  const hasher = patientHasher()

  it('verifies hashes of other programs, and asks for a re-hash', async () => {
    const ofBcrypt = await bcrypt.hash(password, 4)
    for (const hash of [
      // Made by argon2-cffi with the parameters of fastapi-users.
      '$argon2id$v=19$m=65536,t=3,p=4$y4BuR4/0RgE+Mb3DWGN4sQ$UfjyCSQnodwE+ang8kK4RK+riT6bqbBl/BmVimJVS7M',
      await argon2.hash(password, { ...likeToday, type: argon2.argon2i }),
      await argon2.hash(password, { ...likeToday, type: argon2.argon2d }),
      ...['$2a', '$2b', '$2y'].map((version) => ofBcrypt.replace('$2b', version)),
    ]) {
      expect(await hasher.verify(password, hash), hash).to.equal('match_needs_rehash')
      expect(await hasher.verify('wrong', hash), hash).to.equal('mismatch')
    }
  })

  it('asks for a re-hash only of a password that bcrypt has read in full, because its end may be mistyped', async () => {
    const hash = await bcrypt.hash('k'.repeat(80), 4)
    expect(await hasher.verify('k'.repeat(80), hash)).to.equal('match')
    expect(await hasher.verify('k'.repeat(72), hash)).to.equal('match')
    expect(await hasher.verify('k'.repeat(71), hash)).to.equal('mismatch')
    const short = await bcrypt.hash('k'.repeat(71), 4)
    expect(await hasher.verify('k'.repeat(71), short)).to.equal('match_needs_rehash')
    // In NFC, these 60 bytes are 120, of which bcrypt has read 72.
    const hindi = await bcrypt.hash('\u0958'.repeat(40).normalize('NFC'), 4)
    expect(await hasher.verify('\u0958'.repeat(20), hindi)).to.equal('match')
    const withNul = await bcrypt.hash('lamp\u0000quartz', 4)
    expect(await hasher.verify('lamp\u0000quartz', withNul)).to.equal('match')
  })

  for (const [what, typed] of [
    ['decomposed Latin', 'Cafe\u0301-lamp-quartz'],
    ['Vietnamese of Windows', 'tr\u01b0\u01a1\u0300ng-lamp'],
    ['Hindi', '\u0958\u093f\u0924\u093e\u092c-lamp'],
  ] as const) {
    it(`accepts ${what} of which another program hashed the same bytes, and keeps them in a re-hash`, async () => {
      expect(typed.normalize('NFC')).not.to.equal(typed)
      expect(await hasher.verify(typed, await bcrypt.hash(typed, 4))).to.equal('typed_needs_rehash')
      const again = await hasher.hash(typed, null, 'typed')
      expect(await argon2.verify(again, typed)).to.equal(true)
      expect(await hasher.verify(typed, again)).to.equal('match')
    })
  }

  it('computes two hashes for a text that is not NFC, whatever the record holds', async () => {
    const typed = 'Cafe\u0301-lamp-quartz'
    const nfc = typed.normalize('NFC')
    const [rawHash, nfcHash] = [await argon2.hash(typed, likeToday), await hasher.hash(typed)]
    const otherHash = await bcrypt.hash('other', 4)
    for (const [text, hash, verdict, hashes] of [
      [typed, null, 'mismatch', 2],
      [typed, '$scrypt$ln=16,r=8,p=1$c2FsdHNhbHQ$aGFzaA', 'mismatch', 2],
      [typed, otherHash, 'mismatch', 2],
      [typed, nfcHash, 'match', 2],
      [typed, rawHash, 'match', 2],
      [nfc, rawHash, 'mismatch', 1],
      [nfc, null, 'mismatch', 1],
    ] as const) {
      const { most, all } = await nativeHashesDuring(async () => {
        expect(await hasher.verify(text, hash)).to.equal(verdict)
      })
      expect({ most, all }, `${verdict} ${hash}`).to.deep.equal({ most: 1, all: hashes })
    }
  })

  it('verifies an imported hash of a password of up to 4096 bytes, and makes no new one of it', async () => {
    const longest = 'x'.repeat(4096)
    expect(await hasher.verify(longest, await argon2.hash(longest, likeFastapiUsers))).to.equal('match')
    expect(await hasher.verify(`${longest}x`, await argon2.hash(`${longest}x`, likeToday))).to.equal('mismatch')
    const { all } = await nativeHashesDuring(() => hasher.verify(longest, null))
    expect(all).to.equal(1)
  })

  it('never matches by NFKC', async () => {
    const hash = await argon2.hash('fi-lamp-quartz', likeToday)
    expect(await hasher.verify('\ufb01-lamp-quartz', hash)).to.equal('mismatch')
  })

  it('never matches a password that every policy refuses, even with its own hash', async () => {
    const ofNothing = await argon2.hash('', likeToday)
    const ofReplacement = await argon2.hash('12345678\ufffd', likeToday)
    expect(await hasher.verify('x'.repeat(1025), ofNothing)).to.equal('mismatch')
    expect(await hasher.verify('12345678\ud800', ofReplacement)).to.equal('mismatch')
    expect(await hasher.verify('12345678\ufffd', ofReplacement)).to.equal('match')
  })

  const ofNobody = [
    '',
    '$',
    `${todays}$`,
    `${todays}$c2FsdHNhbHQ$`,
    '$argon2id$v=19$m=1048576,t=3,p=1$c2FsdHNhbHRzYWx0c2FsdA$aGFzaGhhc2hoYXNoaGFzaGhhc2hoYXNo',
    '$argon2id$v=19$m=131073,t=1,p=1$c2FsdHNhbHRzYWx0c2FsdA$aGFzaGhhc2hoYXNoaGFzaGhhc2hoYXNo',
    '$argon2i$v=19$m=65536,t=13,p=4$c2FsdHNhbHRzYWx0c2FsdA$aGFzaGhhc2hoYXNoaGFzaGhhc2hoYXNo',
    '$argon2id$v=19$m=65536,t=3,p=17$c2FsdHNhbHRzYWx0c2FsdA$aGFzaGhhc2hoYXNoaGFzaGhhc2hoYXNo',
    '$2b$15$abcdefghijklmnopqrstuuabcdefghijklmnopqrstuvwxyzabcde',
    '$argon2id$v=19$m=99999999,t=2,p=1$c2FsdHNhbHRzYWx0c2FsdA$aGFzaGhhc2hoYXNoaGFzaGhhc2hoYXNo',
    '$argon2id$v=19$m=8,t=2,p=4$c2FsdHNhbHRzYWx0c2FsdA$aGFzaGhhc2hoYXNoaGFzaGhhc2hoYXNo',
    '$argon2xx$v=19$m=19456,t=2,p=1$c2FsdHNhbHRzYWx0c2FsdA$aGFzaGhhc2hoYXNoaGFzaGhhc2hoYXNo',
    '$2b$31$abcdefghijklmnopqrstuuabcdefghijklmnopqrstuvwxyzabcde',
    '$2b$04$abcdefghijklmnopqrstuu',
    '$scrypt$ln=16,r=8,p=1$c2FsdHNhbHQ$aGFzaA',
    '5f4dcc3b5aa765d61d8327deb882cf99',
  ]
  it('refuses every password for a hash of an unknown kind, at the cost of one hash', async () => {
    for (const hash of ofNobody) {
      const { all } = await nativeHashesDuring(async () => {
        expect(await hasher.verify(password, hash), hash).to.equal('mismatch')
      })
      expect(all, hash).to.equal(1)
    }
  })
})

describe('the measuring of the costs in the store', () => {
  it('hashes once for each algorithm and number of lanes, whatever number of costs there is', async () => {
    const costs = Array.from({ length: 40 }, (_, at) => `$argon2id$v=19$m=${32 + at},t=2,p=${1 + (at % 2)}`)
    const tooDear = ['$argon2id$v=19$m=1048576,t=3,p=1', '$argon2id$v=19$m=16,t=2,p=99', '$2b$31']
    const { all } = await nativeHashesDuring(() => patientHasher().prepare([todays, ...costs, '$2b$04', ...tooDear]))
    expect(all).to.equal(4)
  })
})

describe('the parameters of argon2id', () => {
  const { memoryKiB: most, timeCost: longest, lanes, memoryKiBTimesPasses } = greatestCost

  for (const [memoryKiB, timeCost, parallelism, isAllowed] of [
    [19_456, 2, 1, true],
    [47_104, 1, 1, true],
    [7168, 5, 1, true],
    [65_536, 3, 4, true],
    [most, memoryKiBTimesPasses / most, lanes, true],
    [most, memoryKiBTimesPasses / most + 1, 1, false],
    [7168, longest, 1, true],
    [65_536, 3, lanes + 1, false],
    [most + 1, 2, 1, false],
    [19_456, longest + 1, 1, false],
    [19_455, 2, 1, false],
    [47_103, 1, 1, false],
    [12_288, 2, 1, false],
    [7168, 4, 1, false],
    [8, 99, 1, false],
    [19_456, 0, 1, false],
    [19_456, 2, 0, false],
  ] as const) {
    it(`${isAllowed ? 'may' : 'may not'} be m=${memoryKiB}, t=${timeCost}, p=${parallelism}`, () => {
      const pool = hashPool({ size: 1, maxWaitSeconds: 1 })
      const build = () => argon2Hasher({ pool, memoryKiB, timeCost, parallelism })
      if (isAllowed) expect(build).not.to.throw()
      else expect(build).to.throw(RangeError)
    })
  }
})

describe('many hashes at once', () => {
  it('never run more at a time than the pool allows, hashing or verifying', async () => {
    for (const concurrency of [1, 2]) {
      const hasher = patientHasher(concurrency)
      const known = await hasher.hash(password)
      const imported = await bcrypt.hash(password, 4)
      const { most, all } = await nativeHashesDuring(() =>
        Promise.all([
          ...Array.from({ length: 4 }, () => hasher.hash(password)),
          ...Array.from({ length: 4 }, () => hasher.verify(password, known)),
          ...Array.from({ length: 4 }, () => hasher.verify(password, imported)),
          ...Array.from({ length: 4 }, () => hasher.verify(password, null)),
        ]),
      )
      expect(most, `concurrency ${concurrency}`).to.equal(concurrency)
      expect(all).to.equal(16)
    }
  })

  it('run a hash of four lanes alone when there are two permits', async () => {
    const hasher = patientHasher(2)
    const wide = await argon2.hash(password, likeFastapiUsers)
    const { most } = await nativeHashesDuring(() =>
      Promise.all(Array.from({ length: 4 }, () => hasher.verify(password, wide))),
    )
    expect(most).to.equal(1)
  })

  it('are refused at once, without hashing, when the wait would be too long', async () => {
    const hasher = argon2Hasher({ pool: hashPool({ size: 2, maxWaitSeconds: 0.1 }) })
    await hasher.verify('warm up', null)
    const { all } = await nativeHashesDuring(async () => {
      const faults = await Promise.all(Array.from({ length: 200 }, () => faultOf(hasher.verify(password, null))))
      const refused = faults.filter((fault) => fault !== null)
      expect(refused.length).to.be.within(100, 198)
      for (const fault of refused) expect(fault).to.be.instanceOf(Unavailable).with.property('retryAfterSeconds', 1)
    })
    expect(all).to.be.within(2, 100)
  })

  it('do not prevent the measurement of a scheme, even with a longest wait of 0', async () => {
    const hasher = argon2Hasher({ pool: hashPool({ size: 1, maxWaitSeconds: 0 }) })
    const busy = hasher.verify('wrong', null)
    await hasher.prepare(['$argon2id$v=19$m=65536,t=3,p=1'])
    expect(await busy).to.equal('mismatch')
  })
})
