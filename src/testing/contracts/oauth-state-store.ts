import assert from 'node:assert/strict'
import type { OAuthStateStore } from '../../application/ports/stores/oauth-state-store.ts'
import type { OAuthState } from '../../domain/oauth-account.ts'
import { anOAuthState } from '../builders.ts'
import type { ContractCase } from '../contract.ts'
import type { FixedClock } from '../fixed-clock.ts'
import { afresh, type Open, type OpenedOAuthStates, type SweepOptions, shared } from './store-under-test.ts'

/** More journeys than any case here starts. */
const plenty = 10_000

/** The promises of `OAuthStateStore` in `application/ports`. */
export function oauthStateStoreContract(
  open: Open<OpenedOAuthStates>,
  { sweeps }: SweepOptions = { sweeps: true },
): ContractCase[] {
  const opened = shared(open)

  const on = (
    title: string,
    act: (store: OAuthStateStore, clock: FixedClock, second: OAuthStateStore) => Promise<void>,
  ): ContractCase => ({
    title,
    async run() {
      const { store, clock, second } = await opened()
      await act(store, clock, await second())
    },
  })

  /** A journey that starts now, by the store's clock, and expires after `seconds`. */
  async function begun(store: OAuthStateStore, clock: FixedClock, seconds = 600): Promise<OAuthState> {
    const state = anOAuthState({ expiresAt: new Date(clock().getTime() + seconds * 1000) })
    await store.put(state, plenty)
    return state
  }

  return [
    on('gives back every field of a state', async (store, _, second) => {
      const nobodys = anOAuthState({ flow: 'login', userId: null, credentialId: null, provider: 'other' })
      for (const state of [anOAuthState(), nobodys]) {
        await store.put(state, plenty)
        assert.deepEqual(await second.take(state.digest), state)
      }
    }),

    on('answers null for what is unknown', async (store) => {
      const state = anOAuthState()
      assert.equal(await store.take(state.digest), null)
      await store.put(state, plenty)
      for (const other of [state.browserDigest, state.nonce, state.codeVerifier, '', state.digest.slice(1)]) {
        assert.equal(await store.take(other), null)
      }
      assert.deepEqual(await store.take(state.digest), state)
    }),

    on('gives a state away once', async (store, clock, second) => {
      const state = await begun(store, clock)
      assert.deepEqual(await store.take(state.digest), state)
      assert.equal(await store.take(state.digest), null)
      assert.equal(await second.take(state.digest), null)
    }),

    on('gives a state to exactly one of many callers', async (store, clock, second) => {
      const state = await begun(store, clock)
      const taken = await Promise.all(
        Array.from({ length: 64 }, (_, at) => (at % 2 ? store : second).take(state.digest)),
      )
      assert.deepEqual(
        taken.filter((one) => one !== null),
        [state],
      )
    }),

    on('keeps several states of one user and browser side by side', async (store, _, second) => {
      const first = anOAuthState()
      const { digest, codeVerifier, nonce } = anOAuthState()
      const other = { ...first, digest, codeVerifier, nonce }
      await Promise.all([store.put(first, plenty), second.put(other, plenty)])
      assert.deepEqual(await store.take(other.digest), other)
      assert.deepEqual(await second.take(first.digest), first)
    }),

    on('hides an expired state', async (store, clock) => {
      const [inTime, late] = [await begun(store, clock), await begun(store, clock)]
      clock.advance(599)
      assert.deepEqual(await store.take(inTime.digest), inTime)
      clock.advance(1)
      assert.equal(await store.take(late.digest), null)
    }),

    {
      title: 'stores no more live states than are allowed, whoever puts them',
      run: () =>
        afresh(open, async ({ store, clock, second }) => {
          const stores = [store, await second()]
          const put = (seconds: number) =>
            Promise.all(
              stores.map(async (one) => {
                const state = anOAuthState({ expiresAt: new Date(clock().getTime() + seconds * 1000) })
                return { state, outcome: await one.put(state, 6) }
              }),
            )
          for (let pair = 0; pair < 3; pair++) {
            for (const { outcome } of await put(60)) assert.equal(outcome, 'stored')
          }
          const refused = (await Promise.all(Array.from({ length: 32 }, () => put(60)))).flat()
          for (const { state, outcome } of refused) {
            assert.equal(outcome, 'full')
            assert.equal(await store.take(state.digest), null)
          }
          clock.advance(60)
          const stored = (await put(600)).map(({ outcome }) => outcome)
          assert.deepEqual(stored, ['stored', 'stored'])
        }),
    },

    {
      title: 'stores another state for each that was taken or has expired',
      run: () =>
        afresh(open, async ({ store, clock, second }) => {
          const other = await second()
          const expiringIn = (seconds: number) =>
            anOAuthState({ expiresAt: new Date(clock().getTime() + seconds * 1000) })
          const [first, short, late] = [expiringIn(600), expiringIn(60), expiringIn(600)]
          assert.equal(await store.put(first, 2), 'stored')
          assert.equal(await store.put(short, 2), 'stored')
          assert.equal(await other.put(late, 2), 'full')
          assert.deepEqual(await other.take(first.digest), first)
          assert.equal(await other.put(late, 2), 'stored')
          assert.equal(await store.put(expiringIn(600), 2), 'full')
          clock.advance(60)
          assert.equal(await store.put(expiringIn(600), 2), 'stored')
          assert.equal(await other.put(expiringIn(600), 2), 'full')
          assert.deepEqual(await store.take(late.digest), late)
        }),
    },

    {
      title: 'sweeps at most so many expired states, and no live one',
      run: () =>
        afresh(open, async ({ store, clock }) => {
          const live = await begun(store, clock)
          const expired = await Promise.all(Array.from({ length: 5 }, () => begun(store, clock, 60)))
          clock.advance(60)
          const swept = [await store.sweep(3), await store.sweep(3), await store.sweep(3)]
          if (sweeps) assert.deepEqual(swept, [3, 2, 0])
          for (const { digest } of expired) assert.equal(await store.take(digest), null)
          assert.deepEqual(await store.take(live.digest), live)
        }),
    },
  ]
}
