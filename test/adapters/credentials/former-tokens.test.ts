import { expect } from 'chai'
import jsonwebtoken from 'jsonwebtoken'
import { formerLinks, withFormerLogins } from '../../../src/adapters/credentials/former-tokens.ts'
import { objectionToHash } from '../../../src/adapters/crypto/hash-schemes.ts'
import { newId } from '../../../src/adapters/crypto/new-id.ts'
import type { Credentials } from '../../../src/application/ports/credentials.ts'
import { aUser } from '../../../src/testing/builders.ts'

const now = new Date('2026-11-27T12:00:00Z')
const secret = 'a secret of the app'
const seconds = (time: Date) => Math.floor(time.getTime() / 1000)
const inDays = (days: number) => new Date(now.getTime() + days * 86_400_000)
const signed = (claims: object, key = secret) => jsonwebtoken.sign(claims, key, { noTimestamp: true })

describe('the reader of former tokens', () => {
  const used: string[] = []
  const common = { until: () => inDays(10), clock: () => now }
  const links = formerLinks({
    ...common,
    resetSecret: secret,
    verificationSecret: null,
    hasher: { verify: async () => 'match' },
    hashObjection: objectionToHash,
    used: (kind) => used.push(kind),
  })

  it('compares no fingerprint of a cost above the limit for imports, and nothing without the former hash', async () => {
    const user = aUser({ imported: { generation: 0, hashText: 'a hash', digest: 'd', version: 1 } })
    const standsFor = async (cost: string, one = user) => {
      const password_fgpt = `$argon2id$v=19$${cost},p=4$${'a'.repeat(22)}$${'b'.repeat(43)}`
      const claims = { sub: newId(), password_fgpt, aud: 'fastapi-users:reset', exp: seconds(inDays(1)) }
      return await links.find('reset_password', signed(claims))?.standsFor(one)
    }
    expect(await standsFor('m=65536,t=3')).to.equal(true)
    expect(await standsFor('m=1048576,t=4')).to.equal(false)
    expect(await standsFor('m=65536,t=3', { ...user, imported: null })).to.equal(false)
  })

  it('counts the genuine ones alone, and none of a kind without a secret', () => {
    used.length = 0
    const claims = { sub: newId(), exp: seconds(inDays(1)) }
    links.find('reset_password', signed({ ...claims, aud: 'fastapi-users:reset' }))
    links.find('reset_password', signed({ ...claims, aud: 'fastapi-users:reset' }, 'another secret'))
    links.find('verify_email', signed({ ...claims, aud: 'fastapi-users:verify' }))
    expect(used).to.deep.equal(['reset'])
  })

  it('takes the end of a login from the token alone, so that a later day brings no logged-out one back', async () => {
    // Safe: nothing else is called.
    const own = { read: async () => null } as unknown as Credentials
    const former = { ...common, secret, audiences: ['fastapi-users:auth'], used() {} }
    const endOf = async (exp: number) => {
      const value = signed({ sub: newId(), aud: ['fastapi-users:auth'], exp })
      return (await withFormerLogins(own, former).read(value))?.expiresAt
    }
    expect(await endOf(seconds(inDays(80)))).to.deep.equal(inDays(80))
    expect(await endOf(1e18)).to.deep.equal(new Date('9999-12-31T23:59:59Z'))
  })
})
