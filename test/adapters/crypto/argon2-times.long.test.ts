import argon2 from 'argon2'
import bcrypt from 'bcrypt'
import { expect } from 'chai'
import type { Argon2Hasher } from '../../../src/adapters/crypto/argon2-hasher.ts'
import { median } from '../../support/http/statistics.ts'
import { password, patientHasher, todays } from '../../support/scenes/hashes.ts'

async function millisecondsOf(act: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await act()
  return performance.now() - began
}

describe('a mismatch', function () {
  this.retries(2) // a busy machine
  /** Three times the cost of today's. */
  const dear = '$argon2id$v=19$m=40960,t=3,p=1'
  let imported = ''
  before(async () => {
    imported = await argon2.hash(password, { memoryCost: 40_960, timeCost: 3, parallelism: 1 })
  })

  /** Medians of three interleaved refusals each. */
  async function refusals(hasher: Argon2Hasher) {
    const known = await hasher.hash(password)
    const times = { nobody: [] as number[], known: [] as number[], imported: [] as number[] }
    for (let round = 0; round < 3; round += 1) {
      times.nobody.push(await millisecondsOf(() => hasher.verify('wrong', null)))
      times.known.push(await millisecondsOf(() => hasher.verify('wrong', known)))
      times.imported.push(await millisecondsOf(() => hasher.verify('wrong', imported)))
    }
    return { nobody: median(times.nobody), known: median(times.known), imported: median(times.imported) }
  }

  it('takes 1.5 times as long as the dearest scheme in the store, for every scheme', async () => {
    const hasher = patientHasher()
    const before = await refusals(hasher)
    expect(before.imported).to.be.greaterThan(before.known * 2)

    await hasher.prepare([todays, dear])
    const after = await refusals(hasher)
    for (const time of [after.nobody, after.known])
      expect(time).to.be.within(after.imported * 0.8, after.imported * 1.2)
    expect(after.imported).to.be.greaterThan(before.imported * 1.1)
  })

  it('takes twice as long for a text that is not NFC', async () => {
    const hasher = patientHasher()
    await hasher.prepare([dear])
    const one = await millisecondsOf(() => hasher.verify('Caf\u00e9', null))
    expect(await millisecondsOf(() => hasher.verify('Cafe\u0301', null))).to.be.greaterThan(one * 1.7)
    expect(await millisecondsOf(() => hasher.verify('Cafe\u0301', imported))).to.be.greaterThan(one * 1.7)
  })

  it('waits without using the processor or a permit of the pool', async () => {
    const hasher = patientHasher(1)
    await hasher.prepare([dear])
    const one = await millisecondsOf(() => hasher.verify('wrong', null))
    const sixAtOnce = await millisecondsOf(() =>
      Promise.all(Array.from({ length: 6 }, () => hasher.verify('wrong', null))),
    )
    expect(sixAtOnce).to.be.lessThan(one * 4)
  })

  it('is the only outcome that waits', async () => {
    const hasher = patientHasher()
    const known = await hasher.hash(password)
    await hasher.prepare([dear])
    const refused = await millisecondsOf(() => hasher.verify('wrong', known))
    expect(await millisecondsOf(() => hasher.verify(password, known))).to.be.lessThan(refused / 2)
  })

  it('covers bcrypt', async () => {
    const hasher = patientHasher()
    await hasher.prepare(['$2b$10', todays])
    const hash = await bcrypt.hash(password, 10)
    const wrong = await millisecondsOf(() => hasher.verify('wrong', hash))
    expect(await millisecondsOf(() => hasher.verify('wrong', null))).to.be.within(wrong * 0.8, wrong * 1.2)
  })
})
