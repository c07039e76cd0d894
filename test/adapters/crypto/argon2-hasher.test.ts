import argon2 from 'argon2'
import bcrypt from 'bcrypt'
import { expect } from 'chai'
import { argon2Hasher } from '../../../src/adapters/crypto/argon2-hasher.ts'
import { greatestCost } from '../../../src/adapters/crypto/cost-bounds.ts'
import { hashPool } from '../../../src/adapters/crypto/hash-pool.ts'
import { Unavailable } from '../../../src/domain/refusal.ts'
import { nativeHashesDuring, password, patientHasher, todays } from '../../support/hashes.ts'

const likeToday = { type: argon2.argon2id, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const
/** The default parameters of pwdlib, and so of fastapi-users. */
const likeFastapiUsers = { type: argon2.argon2id, memoryCost: 65_536, timeCost: 3, parallelism: 4 } as const

describe('hashing a password', () => {
  const hasher = patientHasher()

  it('makes a PHC string of argon2id with the parameters of today and a salt of 16 bytes', async () => {
    const hash = await hasher.hash(password)
    const [, , , , salt = '', tag = ''] = hash.split('$')
    expect(hash.startsWith(`${todays}$`), hash).to.equal(true)
    expect(Buffer.from(salt, 'base64')).to.have.length(16)
    expect(Buffer.from(tag, 'base64')).to.have.length(32)
  })

  it('never makes the same string twice', async () => {
    const hashes = await Promise.all(Array.from({ length: 20 }, () => hasher.hash(password)))
    expect(new Set(hashes.map((hash) => hash.split('$')[4])).size).to.equal(20)
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

  it('accepts the greatest cost that settings allow', () => {
    for (const cost of [{ memoryKiB: greatestCost.memoryKiB }, { timeCost: greatestCost.timeCost }, greatestCost]) {
      const pool = hashPool({ size: 1, maxWaitSeconds: 1 })
      expect(() => argon2Hasher({ pool, ...cost, parallelism: 16 })).not.to.throw()
    }
    const tooGreat = { memoryKiB: greatestCost.memoryKiB + 1, timeCost: greatestCost.timeCost + 1 }
    for (const cost of [{ memoryKiB: tooGreat.memoryKiB }, { timeCost: tooGreat.timeCost }]) {
      const pool = hashPool({ size: 1, maxWaitSeconds: 1 })
      expect(() => argon2Hasher({ pool, ...cost })).to.throw(RangeError, 'cannot be had')
    }
  })

  it('refuses to hash a password that every policy refuses', async () => {
    for (const bad of ['x'.repeat(1025), 'half a pair \ud800']) {
      const fault = await hasher.hash(bad).catch((error: unknown) => error)
      expect(fault).to.be.instanceOf(RangeError)
    }
  })
})

describe('verifying a password', () => {
  const hasher = patientHasher()

  it('tells right from wrong', async () => {
    const hash = await hasher.hash(password)
    expect(await hasher.verify(password, hash)).to.equal('match')
    expect(await hasher.verify(`${password}.`, hash)).to.equal('mismatch')
    expect(await hasher.verify('', hash)).to.equal('mismatch')
  })

  it('verifies hashes of fastapi-users, and asks for a re-hash', async () => {
    // Made by argon2-cffi.
    const hash = '$argon2id$v=19$m=65536,t=3,p=4$y4BuR4/0RgE+Mb3DWGN4sQ$UfjyCSQnodwE+ang8kK4RK+riT6bqbBl/BmVimJVS7M'
    expect(await hasher.verify(password, hash)).to.equal('match_needs_rehash')
    expect(await hasher.verify(`${password}.`, hash)).to.equal('mismatch')
  })

  it('verifies argon2i and argon2d, and asks for a re-hash', async () => {
    for (const type of [argon2.argon2i, argon2.argon2d] as const) {
      const hash = await argon2.hash(password, { ...likeToday, type })
      expect(await hasher.verify(password, hash)).to.equal('match_needs_rehash')
      expect(await hasher.verify('wrong', hash)).to.equal('mismatch')
    }
  })

  it('verifies the three spellings of bcrypt, and asks for a re-hash', async () => {
    const hash = await bcrypt.hash(password, 4)
    for (const version of ['$2a', '$2b', '$2y']) {
      const spelled = hash.replace('$2b', version)
      expect(await hasher.verify(password, spelled), version).to.equal('match_needs_rehash')
      expect(await hasher.verify('wrong', spelled), version).to.equal('mismatch')
    }
  })

  it('asks for no re-hash of a password longer than bcrypt reads: its end may be mistyped', async () => {
    const hash = await bcrypt.hash('x'.repeat(80), 4)
    expect(await hasher.verify('x'.repeat(80), hash)).to.equal('match')
    expect(await hasher.verify('x'.repeat(72), hash)).to.equal('match_needs_rehash')
    expect(await hasher.verify('x'.repeat(71), hash)).to.equal('mismatch')
  })

  it('lets no password match that the password policy refuses, whatever the hash', async () => {
    const ofNothing = await argon2.hash('', likeToday)
    const ofReplacement = await argon2.hash('12345678\ufffd', likeToday)
    expect(await hasher.verify('x'.repeat(1025), ofNothing)).to.equal('mismatch')
    expect(await hasher.verify('12345678\ud800', ofReplacement)).to.equal('mismatch')
    expect(await hasher.verify('12345678\ufffd', ofReplacement)).to.equal('match')
  })

  const nobodys = [
    '',
    'plain',
    '!',
    '$',
    '$argon2id$',
    `${todays}$`,
    `${todays}$c2FsdHNhbHQ$`,
    `${todays}$c2FsdHNhbHQ`,
    '$argon2id$v=19$m=99999999,t=2,p=1$c2FsdHNhbHRzYWx0c2FsdA$aGFzaGhhc2hoYXNoaGFzaGhhc2hoYXNo',
    '$argon2id$v=19$m=8,t=2,p=4$c2FsdHNhbHRzYWx0c2FsdA$aGFzaGhhc2hoYXNoaGFzaGhhc2hoYXNo',
    '$argon2id$v=19$m=19456,t=0,p=1$c2FsdHNhbHRzYWx0c2FsdA$aGFzaGhhc2hoYXNoaGFzaGhhc2hoYXNo',
    '$argon2xx$v=19$m=19456,t=2,p=1$c2FsdHNhbHRzYWx0c2FsdA$aGFzaGhhc2hoYXNoaGFzaGhhc2hoYXNo',
    '$2b$31$abcdefghijklmnopqrstuuabcdefghijklmnopqrstuvwxyzabcde',
    '$2x$04$abcdefghijklmnopqrstuuabcdefghijklmnopqrstuvwxyzabcde',
    '$2b$04$abcdefghijklmnopqrstuu',
    '$scrypt$ln=16,r=8,p=1$c2FsdHNhbHQ$aGFzaA',
    '5f4dcc3b5aa765d61d8327deb882cf99',
    'pbkdf2_sha256$260000$salt$aGFzaA==',
  ]
  it(`takes ${nobodys.length} strings that are no hash of ours for nobody's, at the cost of one hash each`, async () => {
    for (const hash of nobodys) {
      const { all } = await nativeHashesDuring(async () => {
        expect(await hasher.verify(password, hash), hash).to.equal('mismatch')
      })
      expect(all, hash).to.equal(1)
    }
  })
})

describe('the parameters of argon2id', () => {
  const construct = (memoryKiB: number, timeCost: number, parallelism = 1) =>
    argon2Hasher({ pool: hashPool({ size: 1, maxWaitSeconds: 1 }), memoryKiB, timeCost, parallelism })

  it('may have any cost that equals the least one', () => {
    for (const [memoryKiB, timeCost] of [
      [19_456, 2],
      [47_104, 1],
      [12_288, 3],
      [9216, 4],
      [7168, 5],
      [65_536, 3],
    ] as const) {
      expect(() => construct(memoryKiB, timeCost)).not.to.throw()
    }
    expect(() => construct(65_536, 3, 4)).not.to.throw()
  })

  it('are refused when they are weaker or invalid', () => {
    for (const [memoryKiB, timeCost] of [
      [19_455, 2],
      [47_103, 1],
      [12_287, 3],
      [12_288, 2],
      [7167, 5],
      [7168, 4],
      [8, 99],
      [19_456, 0],
      [19_456.5, 2],
      [Number.NaN, 2],
      [2_000_000, 2],
    ] as const) {
      expect(() => construct(memoryKiB, timeCost), `${memoryKiB}, ${timeCost}`).to.throw(RangeError)
    }
    expect(() => construct(19_456, 2, 0)).to.throw(RangeError)
  })
})

describe('many hashes at once', function () {
  this.timeout(30_000)
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

  it('are refused at once, without hashing, when the wait would be too long; the others are served', async () => {
    const hasher = argon2Hasher({ pool: hashPool({ size: 2, maxWaitSeconds: 0.1 }) })
    await hasher.verify('warm up', null)
    let served = 0
    let servedBeforeTheLastRefusal = 0
    let refused = 0
    const { all } = await nativeHashesDuring(async () => {
      await Promise.all(
        Array.from({ length: 200 }, () =>
          hasher.verify(password, null).then(
            () => {
              served += 1
            },
            (fault: unknown) => {
              expect(fault).to.be.instanceOf(Unavailable).with.property('retryAfterSeconds', 1)
              refused += 1
              servedBeforeTheLastRefusal = served
            },
          ),
        ),
      )
    })
    expect(served + refused).to.equal(200)
    expect(all).to.equal(served)
    expect(served).to.be.within(2, 100)
    expect(servedBeforeTheLastRefusal).to.equal(0)
  })

  it('do not keep a scheme from being measured, however short the longest wait', async () => {
    const hasher = argon2Hasher({ pool: hashPool({ size: 1, maxWaitSeconds: 0 }) })
    const busy = hasher.verify('wrong', null)
    await hasher.prepare(['$argon2id$v=19$m=65536,t=3,p=1'])
    expect(await busy).to.equal('mismatch')
  })
})
