import assert from 'node:assert/strict'
import type { OAuthStateStore } from '../../application/ports/stores/oauth-state-store.ts'
import type { OAuthState } from '../../domain/oauth-state.ts'
import { anOAuthState } from '../builders.ts'
import { type Cases, range, type Scene } from '../cases.ts'

/** More journeys than any case here starts. */
const plenty = 10_000

/** The promises of `OAuthStateStore` in `application/ports`. */
export function oauthStateStoreContract({ on, onNew, assertSwept }: Cases<OAuthStateStore>): void {
  /** The stored state of a journey that starts now and expires after `seconds`. */
  async function begun({ store, inSeconds }: Scene<OAuthStateStore>, seconds = 600): Promise<OAuthState> {
    const state = anOAuthState({ expiresAt: inSeconds(seconds) })
    await store.put(state, plenty)
    return state
  }

  on('gives back every field of a state', async ({ store, second }) => {
    const nobodys = anOAuthState({ flow: 'login', userId: null, credentialId: null, returnTo: null })
    for (const state of [anOAuthState(), nobodys]) {
      await store.put(state, plenty)
      assert.deepEqual(await second.take(state.digest), state)
    }
  })

  on('answers null for an unknown digest', async ({ store }) => {
    const state = anOAuthState()
    assert.equal(await store.take(state.digest), null)
    await store.put(state, plenty)
    for (const other of [state.browserDigest, state.sealedSecrets, '', state.digest.slice(1)]) {
      assert.equal(await store.take(other), null)
    }
    assert.deepEqual(await store.take(state.digest), state)
  })

  on('gives a state to exactly one of many callers', async (scene) => {
    const state = await begun(scene)
    const taken = await scene.atOnce(range(64), (one) => one.take(state.digest))
    const winners = taken.filter((one) => one !== null)
    assert.deepEqual(winners, [state])
  })

  on('stores several states of one user and browser', async ({ store, second }) => {
    const first = anOAuthState()
    const { digest, sealedSecrets } = anOAuthState()
    const other = { ...first, digest, sealedSecrets }
    await Promise.all([store.put(first, plenty), second.put(other, plenty)])
    assert.deepEqual(await store.take(other.digest), other)
    assert.deepEqual(await second.take(first.digest), first)
  })

  on('hides an expired state', async (scene) => {
    const { store, clock } = scene
    const [inTime, late] = [await begun(scene), await begun(scene)]
    clock.advance(599)
    assert.deepEqual(await store.take(inTime.digest), inTime)
    clock.advance(1)
    assert.equal(await store.take(late.digest), null)
  })

  onNew('stores at most the given number of live states, of all handles together', async (scene) => {
    const { store, clock, inSeconds, atOnce } = scene
    const put = (howMany: number, seconds: number) =>
      atOnce(range(howMany), async (one) => {
        const state = anOAuthState({ expiresAt: inSeconds(seconds) })
        return { state, outcome: await one.put(state, 6) }
      })
    for (const _ of range(6)) {
      for (const { outcome } of await put(1, 60)) assert.equal(outcome, 'stored')
    }
    for (const { state, outcome } of await put(64, 60)) {
      assert.equal(outcome, 'full')
      assert.equal(await store.take(state.digest), null)
    }
    clock.advance(60)
    for (const { outcome } of await put(2, 600)) assert.equal(outcome, 'stored')
  })

  onNew(
    'accepts a new state for each one that was taken or has expired',
    async ({ store, second, clock, inSeconds }) => {
      const expiringIn = (seconds: number) => anOAuthState({ expiresAt: inSeconds(seconds) })
      const [first, short, late] = [expiringIn(600), expiringIn(60), expiringIn(600)]
      assert.equal(await store.put(first, 2), 'stored')
      assert.equal(await store.put(short, 2), 'stored')
      assert.equal(await second.put(late, 2), 'full')
      assert.deepEqual(await second.take(first.digest), first)
      assert.equal(await second.put(late, 2), 'stored')
      assert.equal(await store.put(expiringIn(600), 2), 'full')
      clock.advance(60)
      assert.equal(await store.put(expiringIn(600), 2), 'stored')
      assert.equal(await second.put(expiringIn(600), 2), 'full')
      assert.deepEqual(await store.take(late.digest), late)
    },
  )

  onNew('sweeps at most the given number of expired states, and no live one', async (scene) => {
    const { store, clock } = scene
    const live = await begun(scene)
    const expired = await Promise.all(range(5).map(() => begun(scene, 60)))
    clock.advance(60)
    await assertSwept(store)
    for (const { digest } of expired) assert.equal(await store.take(digest), null)
    assert.deepEqual(await store.take(live.digest), live)
  })
}
