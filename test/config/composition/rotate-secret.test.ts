import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { keySetName } from '../../../src/adapters/credentials/signing/key-set.ts'
import { signingKeys } from '../../../src/adapters/credentials/signing/signing-keys.ts'
import { derivedKeys } from '../../../src/adapters/crypto/derived-keys.ts'
import { providerVault } from '../../../src/adapters/crypto/provider-vault.ts'
import { replaceText } from '../../../src/application/tenant-texts.ts'
import { markOf, resolveSecret } from '../../../src/config/composition/master-secret.ts'
import { rotationOf } from '../../../src/config/composition/rotate-secret.ts'
import { type Factors, recoveryBinding, totpBinding } from '../../../src/domain/factors.ts'
import type { UserId } from '../../../src/domain/ids.ts'
import type { User } from '../../../src/domain/user.ts'
import { timers } from '../../../src/lib/timers.ts'
import { anAccount, aUser, someFactors } from '../../../src/testing/builders.ts'
import { fixedClock } from '../../../src/testing/fixed-clock.ts'
import { deliveryNeeds } from '../../support/scenes/delivery.ts'
import { goodSecret, settingsFolder } from '../../support/services/settings.ts'

const next = `next ${goodSecret}`
const vaultOf = (secret: string) => providerVault(derivedKeys(secret).providerTokenKey)
const isOpenBy = (secret: string, { id, oauthAccounts }: ReturnType<typeof aUser>): boolean =>
  oauthAccounts.every(
    ({ provider, sealedAccessToken, sealedRefreshToken }) =>
      vaultOf(secret).unseal(sealedAccessToken, id, provider) === 'access' &&
      vaultOf(secret).unseal(sealedRefreshToken ?? '', id, provider) === 'refresh',
  )

/** Second factors by a secret, and what another one opens of them. */
const factorsBy = (secret: string, id: UserId): Factors => {
  const { sealFactor } = derivedKeys(secret)
  const factors = someFactors()
  const { totp, recovery } = factors
  return {
    ...factors,
    totp: totp && { ...totp, sealedSecret: sealFactor('secret', totpBinding(id)) },
    recovery: recovery && { ...recovery, sealedKey: sealFactor('key', recoveryBinding(id)) },
  }
}
const openedBy = (secret: string, user: User | null) => {
  const { id, factors } = user ?? expect.fail('the user has gone')
  const { unsealFactor } = derivedKeys(secret)
  return [
    unsealFactor(factors.totp?.sealedSecret ?? '', totpBinding(id)),
    unsealFactor(factors.recovery?.sealedKey ?? '', recoveryBinding(id)),
  ]
}

describe('a rotation of the secret', () => {
  const folder = settingsFolder()

  async function scene() {
    const clock = fixedClock(new Date('2030-01-01T00:00:00Z'))
    const stores = await deliveryNeeds(clock)
    const rotation = async (given: object, needs: Partial<Parameters<typeof rotationOf>[0]> = {}) => {
      const { settings } = await folder.load(given)
      return await rotationOf({ users: stores, settings, tenant: 'default', clock, timers, ...needs })
    }
    const sealedBy = (secret: string, refreshingUntil: Date | null = null) => {
      const user = aUser()
      const sealed = (text: string) => vaultOf(secret).seal(text, user.id, 'acme')
      const tokens = { sealedAccessToken: sealed('access'), sealedRefreshToken: sealed('refresh') }
      return { ...user, oauthAccounts: [anAccount({ provider: 'acme', ...tokens, refreshingUntil })] }
    }
    return { ...stores, clock, rotation, sealedBy }
  }
  const ofOld = { secret: goodSecret }
  const oldOpens = { secret: next, formerSecrets: [goodSecret] }
  const quiet = () => undefined

  it('seals provider tokens and signing keys anew, and changes nothing else of a user', async () => {
    const { rotation, users, tenantTexts, outbox, sealedBy, clock } = await scene()
    expect((await rotation(ofOld)).step).to.equal('advice')
    expect((await rotation({ ...ofOld, formerSecrets: [next] })).step).to.equal('advice')
    const [one, other, unreadable] = [sealedBy(goodSecret), sealedBy(next), sealedBy(`gone ${goodSecret}`)]
    for (const user of [one, other, unreadable]) await users.insert(user, [])
    const keysBy = (secret: string) =>
      signingKeys({
        texts: tenantTexts,
        seal: derivedKeys(secret).sealSigningKey,
        unseal: derivedKeys(secret).unsealSigningKey,
        wanted: ['EdDSA'],
        wantedIfNew: null,
        ...{ cacheSeconds: 600, rotateDays: 90, tokenSeconds: 3600 },
        clock,
        added: quiet,
      })
    const kid = (await keysBy(goodSecret).signer('EdDSA'))?.kid

    const { step, reseal } = await rotation(oldOpens)
    expect(step).to.equal('reseal')
    expect(await reseal(quiet)).to.deep.include({ users: 3, resealed: 1 })
    const found = await users.find(one.id)
    expect(isOpenBy(next, found ?? one)).to.equal(true)
    expect({ ...found, oauthAccounts: [], version: 0 }).to.deep.equal({ ...one, oauthAccounts: [], version: 0 })
    for (const user of [other, unreadable]) expect(await users.find(user.id)).to.deep.equal(user)
    expect(await outbox.count('waiting', 10)).to.equal(0)
    expect((await keysBy(next).signer('EdDSA'))?.kid).to.equal(kid)
    const sealed = await tenantTexts.read(keySetName)
    expect((await rotation({ secret: next })).step).to.equal('advice')
    expect(await (await rotation(oldOpens)).reseal(quiet)).to.deep.include({ resealed: 0 })
    expect(await tenantTexts.read(keySetName)).to.equal(sealed)
  })

  it('seals second factors anew, and changes nothing else of them', async () => {
    const { rotation, users } = await scene()
    await rotation(ofOld)
    const people = [goodSecret, next, `gone ${goodSecret}`].map((secret) => {
      const user = aUser({ oauthAccounts: [] })
      return { ...user, factors: factorsBy(secret, user.id) }
    })
    const [one = expect.fail(), other = expect.fail(), unreadable = expect.fail()] = people
    const { totp, recovery } = one.factors
    const half = aUser({ oauthAccounts: [] })
    const onlyKey = { ...factorsBy(next, half.id), recovery: factorsBy(goodSecret, half.id).recovery }
    for (const user of [...people, { ...half, factors: onlyKey }])
      expect(await users.insert(user, [])).to.equal('stored')

    expect(await (await rotation(oldOpens)).reseal(quiet)).to.deep.include({ users: 4, resealed: 2 })
    const found = (await users.find(one.id)) ?? expect.fail('the user has gone')
    expect(openedBy(next, found)).to.deep.equal(['secret', 'key'])
    const restored = {
      ...found.factors,
      totp: found.factors.totp && { ...found.factors.totp, sealedSecret: totp?.sealedSecret },
      recovery: found.factors.recovery && { ...found.factors.recovery, sealedKey: recovery?.sealedKey },
    }
    expect({ ...found, factors: restored, version: 0 }).to.deep.equal({ ...one, version: 0 })
    expect(openedBy(next, await users.find(half.id))).to.deep.equal(['secret', 'key'])
    for (const user of [other, unreadable]) expect(await users.find(user.id)).to.deep.equal(user)
    expect(await (await rotation(oldOpens)).reseal(quiet)).to.deep.include({ resealed: 0 })
  })

  it('loses no step of a code that is accepted meanwhile', async () => {
    const { rotation, users, tenantTexts } = await scene()
    await rotation(ofOld)
    const user = aUser({ oauthAccounts: [] })
    const before = { ...user, factors: factorsBy(goodSecret, user.id) }
    await users.insert(before, [])
    let isFirst = true
    const late = {
      ...users,
      async replace(...input: Parameters<typeof users.replace>) {
        if (isFirst) {
          isFirst = false
          const { totp } = before.factors
          const factors = { ...before.factors, totp: totp && { ...totp, lastStep: 62_000_000 } }
          const accepted = { ...before, factors }
          expect(await users.replace(accepted, [])).to.equal('stored')
        }
        return await users.replace(...input)
      },
    }
    await (await rotation(oldOpens, { users: { users: late, tenantTexts } })).reseal(quiet)
    const found = await users.find(user.id)
    expect([found?.factors.totp?.lastStep, openedBy(next, found)]).to.deep.equal([62_000_000, ['secret', 'key']])
  })

  it('tells when the former secret may go, and later only if it was used again', async () => {
    const { rotation, users, sealedBy, clock } = await scene()
    await rotation(ofOld)
    const given = { ...oldOpens, tokens: { verifyLifetimeSeconds: 7200 } }
    const first = await (await rotation(given)).reseal(quiet)
    expect(first?.formerUntil).to.deep.equal(new Date('2030-01-01T02:00:00Z'))
    expect(first?.devicesUntil).to.deep.equal(new Date('2031-01-01T00:00:00Z'))
    clock.advance(3600)
    const again = await rotation(given)
    expect([again.step, again.formerUntil]).to.deep.equal(['wait', first?.formerUntil])
    expect((await again.reseal(quiet))?.formerUntil).to.deep.equal(first?.formerUntil)
    await users.insert(sealedBy(goodSecret), [])
    const later = await (await rotation(given)).reseal(quiet)
    expect(later?.formerUntil).to.deep.equal(new Date('2030-01-01T03:00:00Z'))
  })

  it('tells which former secrets a stored value needs', async () => {
    const { rotation, users, tenantTexts, sealedBy, clock } = await scene()
    await rotation(ofOld)
    const gone = `gone ${goodSecret}`
    const { sealSigningKey } = derivedKeys(goodSecret)
    const unused = { isBound: false, users: 0, signingKeys: 0 }
    await replaceText(
      tenantTexts,
      keySetName,
      JSON.stringify({ keys: [{ kid: 'a', sealed: sealSigningKey(Buffer.from('key'), 'a') }] }),
    )
    for (const user of [sealedBy(goodSecret), sealedBy(goodSecret), sealedBy(next), sealedBy(gone)]) {
      await users.insert(user, [])
    }
    const person = aUser({ oauthAccounts: [] })
    await users.insert({ ...person, factors: factorsBy(goodSecret, person.id) }, [])
    const given = { secret: next, formerSecrets: [goodSecret, gone, `unused ${goodSecret}`] }
    const before = await (await rotation(given)).needsOfFormer()
    expect(before).to.deep.equal([{ isBound: true, users: 3, signingKeys: 1 }, { ...unused, users: 1 }, unused])
    await (await rotation(given)).reseal(quiet)
    clock.advance(1)
    expect(await (await rotation(given)).needsOfFormer()).to.deep.equal([unused, unused, unused])
  })

  it('waits while a caller refreshes a provider token', async () => {
    const { rotation, users, sealedBy, clock } = await scene()
    await rotation(ofOld)
    const busy = sealedBy(goodSecret, new Date(clock().getTime() + 10_000))
    await users.insert(busy, [])
    const seen: boolean[] = []
    const pausing = {
      ...timers,
      async pause() {
        const now = await users.find(busy.id)
        seen.push(isOpenBy(goodSecret, now ?? busy))
        clock.advance(5)
      },
    }
    expect(await (await rotation(oldOpens, { timers: pausing })).reseal(quiet)).to.deep.include({ resealed: 1 })
    expect(seen).to.deep.equal([true, true])
    expect(isOpenBy(next, (await users.find(busy.id)) ?? busy)).to.equal(true)
  })

  for (const count of [3, 600]) {
    it(`goes on with ${count} users after an interruption at any write, and is stopped by a second command`, async () => {
      const { rotation, users, tenantTexts, sealedBy } = await scene()
      await rotation(ofOld)
      const all = Array.from({ length: count }, () => sealedBy(goodSecret))
      for (const user of all) await users.insert(user, [])
      const write = new Error('killed')
      for (let writes = 0; ; writes++) {
        let left = writes
        const killed = {
          ...tenantTexts,
          async exchange(...input: Parameters<typeof tenantTexts.exchange>) {
            if (left-- === 0) throw write
            return await tenantTexts.exchange(...input)
          },
        }
        const { step, reseal } = await rotation(oldOpens, { users: { users, tenantTexts: killed } })
        expect(step).to.equal('reseal')
        if (
          await reseal(quiet).then(
            () => true,
            (thrown) => thrown !== write,
          )
        )
          break
      }
      for (const { id } of all) expect(isOpenBy(next, (await users.find(id)) ?? aUser())).to.equal(true)
      expect(await tenantTexts.read('secret')).to.equal(
        markOf(await resolveSecret((await folder.load(oldOpens)).settings), 'default'),
      )
      const last = await rotation(oldOpens)
      expect(last.step).to.equal('wait')

      const back = { secret: goodSecret, formerSecrets: [next] }
      const two = [await rotation(back), await rotation(back)]
      const outcomes = await Promise.all(two.map(({ reseal }) => reseal(quiet)))
      expect(outcomes.filter((outcome) => outcome === null)).to.have.length(1)
    })
  }

  it('goes through the file in the data folder, step by step', async () => {
    const { rotation, clock, tenantTexts } = await scene()
    const { settings } = await folder.load({})
    const lines = async () => (await readFile(join(settings.dataFolder, 'secret'), 'utf8')).split('\n')
    const now = async () => await rotation({})
    const first = await now()
    const [old] = await lines()
    expect(first.step).to.equal('add')
    await first.add()
    const second = await now()
    expect([second.step, (await lines())[0], (await lines()).length]).to.deep.equal(['makeFirst', old, 3])
    await second.makeFirst()
    const third = await now()
    expect([third.step, (await lines())[1]]).to.deep.equal(['reseal', old])
    await third.reseal(quiet)
    const fourth = await now()
    expect(fourth.step).to.equal('wait')
    clock.advance(30 * 86_400)
    const fifth = await now()
    expect(fifth.step).to.equal('drop')
    await fifth.drop()
    expect(await lines()).to.have.length(2)
    expect(await lines()).not.to.include(old)
    expect((await now()).step).to.equal('add')
    expect(await tenantTexts.read('secret')).to.equal(markOf(await resolveSecret(settings), 'default'))
  })
})
