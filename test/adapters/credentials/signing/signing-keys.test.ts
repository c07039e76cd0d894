import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import type { KeyAlgorithm } from '../../../../src/adapters/credentials/signing/algorithms.ts'
import { keySetName, noKeys, resealed } from '../../../../src/adapters/credentials/signing/key-set.ts'
import { signingKeys } from '../../../../src/adapters/credentials/signing/signing-keys.ts'
import { derivedKeys } from '../../../../src/adapters/crypto/derived-keys.ts'
import { memoryTenantTexts } from '../../../../src/adapters/stores/memory/tenant-texts.ts'
import { replaceText } from '../../../../src/application/tenant-texts.ts'
import { Unavailable } from '../../../../src/domain/refusal.ts'
import { fixedClock } from '../../../../src/testing/fixed-clock.ts'
import { faultOf } from '../../../support/fault-of.ts'

const keyRing = derivedKeys(randomBytes(32))
const daySeconds = 86_400

/** Processes with one store and one clock. */
function deployment() {
  const clock = fixedClock(new Date('2030-01-01T00:00:00Z'))
  const stored = memoryTenantTexts()
  const state = { isDown: false, reads: 0 }
  const texts = {
    ...stored,
    async read(name: string) {
      state.reads += 1
      if (state.isDown) throw new Unavailable('down')
      return stored.read(name)
    },
  }
  const process = (wanted: readonly KeyAlgorithm[], options: Partial<Parameters<typeof signingKeys>[0]> = {}) =>
    signingKeys({
      texts,
      seal: keyRing.sealSigningKey,
      unseal: keyRing.unsealSigningKey,
      wanted,
      wantedIfNew: null,
      cacheSeconds: 600,
      rotateDays: 90,
      tokenSeconds: 3600,
      clock,
      added: () => undefined,
      ...options,
    })
  return { clock, stored, state, process }
}

type Keys = ReturnType<ReturnType<typeof deployment>['process']>

const statesOf = async (keys: Keys) => (await keys.list()).map(({ state }) => state)
const kidOf = async (keys: Keys, alg: KeyAlgorithm) => (await keys.signer(alg))?.kid
const publishedBy = async (keys: Keys) => (await keys.published()).map(({ kid }) => kid)

describe('the signing keys', () => {
  it('begin with one that signs at once, which all concurrent processes share', async () => {
    const { process } = deployment()
    const all = Array.from({ length: 12 }, () => process(['EdDSA']))
    await Promise.all(all.map((one) => one.prepare()))
    const kids = new Set(await Promise.all(all.map((one) => kidOf(one, 'EdDSA'))))
    expect(kids.size).to.equal(1)
    expect(await publishedBy(process(['EdDSA']))).to.deep.equal([...kids])
  })

  it('are published without anything private, and named by their thumbprint', async () => {
    const { process } = deployment()
    const members = {
      EdDSA: ['kty', 'crv', 'x'],
      ES256: ['kty', 'crv', 'x', 'y'],
      RS256: ['kty', 'n', 'e'],
    }
    const keys = process(['EdDSA', 'ES256', 'RS256'])
    const published = await keys.published()
    expect(published.map(({ alg }) => alg)).to.have.members(Object.keys(members))
    for (const jwk of published) {
      const alg = jwk.alg as KeyAlgorithm // safe: checked above
      expect(jwk).to.have.all.keys(...members[alg], 'kid', 'alg', 'use')
      expect(jwk.kid).to.match(/^[\w-]{43}$/)
      if (alg === 'RS256') expect(Buffer.from(jwk.n ?? '', 'base64url')).to.have.length(3072 / 8)
    }
  })

  it('pass through next, current and previous, and are published one cache time before they sign', async () => {
    const { clock, process } = deployment()
    const [one, other] = [process(['EdDSA']), process(['EdDSA'])]
    const first = await kidOf(one, 'EdDSA')
    await other.fresh()
    await one.rotate()
    expect(await statesOf(one)).to.deep.equal(['current', 'next'])
    expect(await publishedBy(one)).to.have.length(2)
    expect(await kidOf(one, 'EdDSA')).to.equal(first)
    clock.advance(16) // the other process reads again
    expect(await publishedBy(other)).to.deep.equal(await publishedBy(one))
    clock.advance(600 - 2)
    expect(await kidOf(other, 'EdDSA')).to.equal(first)
    clock.advance(1)
    const second = await kidOf(other, 'EdDSA')
    expect(second).not.to.equal(first)
    expect(await kidOf(one, 'EdDSA')).to.equal(second)
    expect(await statesOf(one)).to.deep.equal(['previous', 'current'])
    // The last token of the first key lives for an hour, and verifiers keep keys for the cache time.
    clock.advance(3600 + 600)
    expect(await one.find(String(first))).not.to.equal(null)
    clock.advance(16)
    expect(await one.find(String(first))).to.equal(null)
    expect(await publishedBy(other)).to.deep.equal([second])
  })

  it('are rotated when they are due, by exactly one of many processes', async () => {
    const { clock, process } = deployment()
    const added: string[] = []
    const all = Array.from({ length: 12 }, () => process(['EdDSA'], { added: ({ kid }) => added.push(kid) }))
    await Promise.all(all.map((one) => one.fresh()))
    clock.advance(90 * daySeconds - 1)
    await Promise.all(all.map((one) => one.fresh()))
    expect(added).to.have.length(1)
    clock.advance(16)
    await Promise.all(all.map((one) => one.fresh()))
    expect(added).to.have.length(2)
    expect(await statesOf(process([]))).to.deep.equal(['current', 'next'])
    const never = deployment()
    const keys = never.process(['EdDSA'], { rotateDays: 0 })
    await keys.prepare()
    never.clock.advance(3650 * daySeconds)
    expect(await publishedBy(keys)).to.have.length(1)
  })

  it('have one next key, however often they are rotated', async () => {
    const { process } = deployment()
    const keys = process(['ES256'])
    await keys.prepare()
    await Promise.all(Array.from({ length: 8 }, () => keys.rotate()))
    await process(['ES256']).rotate()
    expect(await statesOf(keys)).to.deep.equal(['current', 'next'])
  })

  it('keep the former algorithm until the new key signs, and until its tokens end', async () => {
    const { clock, process } = deployment()
    const before = process(['EdDSA'])
    const former = String(await kidOf(before, 'EdDSA'))
    const after = process(['ES256'])
    expect(await kidOf(after, 'ES256')).to.equal(former)
    clock.advance(615)
    const latter = await kidOf(after, 'ES256')
    expect(latter).not.to.equal(former)
    expect(await after.find(former)).to.deep.include({ alg: 'EdDSA' })
    clock.advance(3600 + 600 + 16)
    expect(await publishedBy(after)).to.deep.equal([latter])
    expect(await after.find(former)).to.equal(null)
  })

  it('keep a key of a former algorithm that signs again, or for longer, until those tokens end', async () => {
    const week = 7 * daySeconds
    for (const between of [['EdDSA'], []] as const) {
      const { clock, process } = deployment()
      const former = String(await kidOf(process(['EdDSA']), 'EdDSA'))
      await process(between).fresh()
      clock.advance(3600)
      const after = process(['ES256'], { tokenSeconds: week })
      await after.fresh()
      clock.advance(614)
      expect(await kidOf(after, 'ES256')).to.equal(former)
      clock.advance(16)
      expect(await kidOf(after, 'ES256')).not.to.equal(former)
      clock.advance(week - 16)
      expect(await after.find(former), `after ${between.join() || 'HS256'}`).to.deep.include({ alg: 'EdDSA' })
      clock.advance(600 + 32)
      expect(await after.find(former)).to.equal(null)
    }
  })

  it('verify tokens of a backend that has gone back to HS256, which reads them only for an unknown kid', async () => {
    const { process, state } = deployment()
    const kid = String(await kidOf(process(['EdDSA']), 'EdDSA'))
    const hmac = process([])
    state.reads = 0
    await hmac.prepare()
    expect(hmac.isOld()).to.equal(false)
    expect(state.reads).to.equal(0)
    expect(await hmac.find(kid)).to.deep.include({ alg: 'EdDSA' })
  })

  it('keep a longer life of tokens than the present setting', async () => {
    const { clock, process } = deployment()
    await process(['EdDSA'], { tokenSeconds: 7200 }).prepare()
    const keys = process(['EdDSA'])
    await keys.rotate()
    const [first] = await keys.list()
    clock.advance(615 + 7200)
    expect(await keys.find(first?.kid ?? '')).not.to.equal(null)
  })

  it('are there for new data alone where only the default asks for them', async () => {
    const { stored, process } = deployment()
    const keys = process([], { wantedIfNew: 'EdDSA' })
    await keys.prepare()
    expect(await keys.signer('EdDSA')).to.equal(null)
    expect(await stored.read(keySetName)).to.equal(null)
    await stored.exchange(keySetName, null, noKeys)
    const ofNewData = process([], { wantedIfNew: 'EdDSA' })
    await ofNewData.prepare()
    expect(await ofNewData.signer('EdDSA')).to.deep.include({ alg: 'EdDSA' })
  })

  it('are read once in a second for any number of unknown names, and a genuine new one is found', async () => {
    const { clock, process, state } = deployment()
    const keys = process(['EdDSA'])
    await keys.prepare()
    state.reads = 0
    for (let at = 0; at < 1000; at++) expect(await keys.find(`made up ${at}`)).to.equal(null)
    await Promise.all(Array.from({ length: 100 }, (_, at) => keys.find(`more ${at}`)))
    expect(state.reads).to.equal(1)
    const other = process(['EdDSA'])
    await other.revoke()
    const kid = String(await kidOf(other, 'EdDSA'))
    clock.advance(1)
    expect(await keys.find(kid)).not.to.equal(null)
  })

  it('are replaced at once when they are revoked, and every process hears of it within 15 s', async () => {
    const { clock, process } = deployment()
    const [one, other] = [process(['EdDSA']), process(['EdDSA'])]
    const leaked = String(await kidOf(one, 'EdDSA'))
    await one.rotate()
    await other.fresh()
    const told: string[] = []
    other.onRemoved(() => told.push('removed'))
    await one.revoke()
    const replacement = await kidOf(one, 'EdDSA')
    expect(await one.find(leaked)).to.equal(null)
    expect(await publishedBy(one)).to.deep.equal([replacement])
    expect(other.isOld()).to.equal(false)
    clock.advance(15)
    expect(other.isOld()).to.equal(true)
    expect(await kidOf(other, 'EdDSA')).to.equal(replacement)
    expect(told).to.deep.equal(['removed'])
    expect(await other.find(leaked)).to.equal(null)
  })

  it('go on while the store does not answer, and an unknown name is unavailable then', async () => {
    const { clock, process, state } = deployment()
    const keys = process(['EdDSA'])
    const kid = String(await kidOf(keys, 'EdDSA'))
    state.isDown = true
    clock.advance(60)
    state.reads = 0
    for (let at = 0; at < 10; at++) expect(await kidOf(keys, 'EdDSA')).to.equal(kid)
    expect(await keys.find(kid)).not.to.equal(null)
    expect(state.reads).to.equal(1)
    clock.advance(1)
    expect(await kidOf(keys, 'EdDSA')).to.equal(kid)
    expect(state.reads).to.equal(2)
    expect(await faultOf(keys.find('unknown'))).to.be.instanceOf(Unavailable)
    expect(await faultOf(keys.find('unknown'))).to.be.instanceOf(Unavailable)
    expect(await faultOf(process(['EdDSA']).signer('EdDSA'))).to.be.instanceOf(Unavailable)
    state.isDown = false
    expect(await keys.find('unknown')).to.equal(null)
  })

  it('sign in a process whose clock is behind that of the process that has made them', async () => {
    const { clock, process } = deployment()
    const kid = await kidOf(process(['EdDSA']), 'EdDSA')
    clock.advance(-30)
    expect(await kidOf(process(['EdDSA']), 'EdDSA')).to.equal(kid)
  })

  it('are sealed by the secret, for their name alone, and may be sealed anew', async () => {
    const { clock, stored, process } = deployment()
    const keys = process(['EdDSA', 'ES256'])
    await keys.prepare()
    const text = String(await stored.read(keySetName))
    const another = derivedKeys(randomBytes(32))
    const foreign = process(['EdDSA'], { unseal: another.unsealSigningKey })
    expect(String(await faultOf(foreign.signer('EdDSA')))).to.include('portcullis keys revoke')
    const { keys: two } = JSON.parse(text)
    expect(keyRing.unsealSigningKey(two[0].sealed, two[1].kid)).to.equal(null)

    const anew = resealed(text, keyRing.unsealSigningKey, another.sealSigningKey)
    await replaceText(stored, keySetName, String(anew))
    clock.advance(15)
    expect((await foreign.signer('EdDSA'))?.kid).to.equal(two[0].kid)
    expect(resealed(text, another.unsealSigningKey, another.sealSigningKey)).to.equal(null)
  })
})
