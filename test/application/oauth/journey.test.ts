import { expect } from 'chai'
import { derivedKeys, newToken } from '../../../src/adapters/crypto/derived-keys.ts'
import { memoryExpiringMarks } from '../../../src/adapters/stores/memory/expiring-marks.ts'
import { identityOf } from '../../../src/application/oauth/redeem-return.ts'
import { StartOAuth } from '../../../src/application/oauth/start-oauth.ts'
import type { KeyRing } from '../../../src/application/ports/key-ring.ts'
import type { OAuthProvider } from '../../../src/application/ports/oauth-provider.ts'
import { fixedClock } from '../../../src/testing/fixed-clock.ts'
import { faultOf } from '../../support/fault-of.ts'
import { goodSecret } from '../../support/services/settings.ts'

const otherSecret = goodSecret.toUpperCase()
const before = derivedKeys(goodSecret)

function scene() {
  const clock = fixedClock()
  const exchanges: string[] = []
  const kept = new Map<string, Date>()
  const marks = memoryExpiringMarks(clock)
  // Safe: a journey calls nothing else.
  const provider = {
    name: 'acme',
    scopes: [],
    authorizationUrl: async ({ state }: { state: string }) => `https://acme.example/authorize?state=${state}`,
    identify: async (_: unknown, { codeVerifier }: { codeVerifier: string }) => void exchanges.push(codeVerifier),
  } as unknown as OAuthProvider
  const expiringMarks = {
    claim(id: string, until: Date) {
      kept.set(id, until)
      return marks.claim(id, until)
    },
  }
  return {
    clock,
    exchanges,
    kept,
    begin: (returnTo: string | null = null, keyRing: KeyRing = before) =>
      new StartOAuth({ keyRing, clock, newToken, freshLoginSeconds: null }).execute({
        ...{ provider, by: null, scopes: null, redirectUri: `https://us.example/${'p'.repeat(200)}`, returnTo },
      }),
    comeBack(state: string, sealed: string | null, keyRing: KeyRing = before): Promise<unknown> {
      const arrival = { provider, journeyOf: () => sealed, recognised: () => undefined }
      const response = { code: 'a code', state, error: null, iss: null }
      return faultOf(identityOf({ keyRing, clock, expiringMarks }, response, arrival, null))
    },
  }
}

const unknown = { code: 'OAUTH_INVALID_STATE', isExpired: false }

describe('a journey to a provider', () => {
  it('takes no place in the store, so that strangers stop nobody by beginning any number', async () => {
    const { begin, comeBack, exchanges, kept } = scene()
    const first = await begin()
    for (let at = 0; at < 10_100; at += 1) await begin()
    const last = await begin()
    expect(kept.size).to.equal(0)
    for (const { state, sealedJourney } of [first, last]) expect(await comeBack(state, sealedJourney)).to.equal(null)
    expect(new Set(exchanges).size).to.equal(2)
    expect(kept.size).to.equal(2)
  })

  it('ends once, however many callbacks come at the same moment', async () => {
    const { clock, begin, comeBack, exchanges, kept } = scene()
    const { state, sealedJourney } = await begin()
    const faults = await Promise.all(Array.from({ length: 64 }, () => comeBack(state, sealedJourney)))
    expect(faults.filter((fault) => fault === null)).to.have.length(1)
    for (const fault of faults.filter((one) => one !== null)) expect(fault).to.include(unknown)
    expect(exchanges).to.have.length(1)
    expect([...kept.values()]).to.deep.equal([new Date(clock().getTime() + 600_000)])
  })

  it('is refused without its cookie, changed, for another state, of another tenant or another kind', async () => {
    const { begin, comeBack, exchanges, kept } = scene()
    const { state, sealedJourney } = await begin()
    const other = await begin()
    const flipped = sealedJourney.startsWith('A') ? 'B' : 'A'
    const forged = [
      ...[null, '', 'A'.repeat(43), sealedJourney.slice(0, -4), `${flipped}${sealedJourney.slice(1)}`],
      ...[other.sealedJourney, (await begin(null, derivedKeys(goodSecret, 'bolt'))).sealedJourney],
      before.sealRecord({ until: Number.MAX_SAFE_INTEGER, provider: 'acme', userId: null, credentialId: null }, state),
    ]
    for (const sealed of forged) expect(await comeBack(state, sealed)).to.include(unknown)
    expect(await comeBack(other.state, sealedJourney)).to.include(unknown)
    expect([exchanges.length, kept.size]).to.deep.equal([0, 0])
    expect(await comeBack(state, sealedJourney)).to.equal(null)
  })

  it('ends after ten minutes', async () => {
    const { clock, begin, comeBack, exchanges } = scene()
    const { state, sealedJourney } = await begin()
    clock.advance(599)
    const late = await begin()
    expect(await comeBack(state, sealedJourney)).to.equal(null)
    clock.advance(600)
    expect(await comeBack(late.state, late.sealedJourney)).to.include({ ...unknown, isExpired: true })
    expect(exchanges).to.have.length(1)
  })

  it('goes on while the secret changes, and ends once', async () => {
    const { begin, comeBack, exchanges } = scene()
    for (const [at, ended] of [
      [before, derivedKeys([otherSecret, goodSecret])],
      [derivedKeys([otherSecret, goodSecret]), derivedKeys([goodSecret, otherSecret])],
    ] as const) {
      const { state, sealedJourney } = await begin(null, at)
      expect(await comeBack(state, sealedJourney, derivedKeys(`${otherSecret}x`))).to.include(unknown)
      const faults = await Promise.all([comeBack(state, sealedJourney, at), comeBack(state, sealedJourney, ended)])
      expect(faults.filter((fault) => fault === null)).to.have.length(1)
      expect(await comeBack(state, sealedJourney, ended)).to.include(unknown)
    }
    expect(exchanges).to.have.length(2)
  })

  it('fits in a cookie, even with the longest address to return to (RFC 6265 section 6.1)', async () => {
    const { sealedJourney } = await scene().begin(`https://us.example/${'x'.repeat(2048 - 19)}`)
    const attributes = '; Max-Age=600; Path=/; HttpOnly; Secure; SameSite=Lax'
    expect(`__Host-oauth-${'s'.repeat(16)}=${sealedJourney}${attributes}`).to.have.length.below(4096)
  })
})
