import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { TokenStore } from '../../application/ports/stores/token-store.ts'
import type { UserId } from '../../domain/ids.ts'
import type { OneTimeToken } from '../../domain/one-time-token.ts'
import { aToken } from '../builders.ts'
import type { ContractCase } from '../contract.ts'
import type { FixedClock } from '../fixed-clock.ts'
import { afresh, type Open, type OpenedTokens, type SweepOptions, shared } from './store-under-test.ts'

/** The promises of `TokenStore` in `application/ports`. */
export function tokenStoreContract(
  open: Open<OpenedTokens>,
  { sweeps }: SweepOptions = { sweeps: true },
): ContractCase[] {
  const opened = shared(open)

  const on = (
    title: string,
    act: (store: TokenStore, clock: FixedClock, second: TokenStore) => Promise<void>,
  ): ContractCase => ({
    title,
    async run() {
      const { store, clock, second } = await opened()
      await act(store, clock, await second())
    },
  })

  /** A token that was issued now, by the store's clock, and lives for 15 minutes. */
  function minted(clock: FixedClock, fields: Partial<OneTimeToken> = {}): OneTimeToken {
    const now = clock().getTime()
    return aToken({ createdAt: new Date(now), expiresAt: new Date(now + 900_000), ...fields })
  }

  async function handedOut(store: TokenStore, clock: FixedClock, fields: Partial<OneTimeToken> = {}) {
    const token = minted(clock, fields)
    await store.put(token)
    return token
  }

  const inSeconds = (clock: FixedClock, seconds: number): Date => new Date(clock().getTime() + seconds * 1000)

  return [
    on('gives back every field of a token, by digest and as the current one', async (store, clock, second) => {
      for (const purpose of ['reset_password', 'verify_email'] as const) {
        const token = await handedOut(store, clock, { purpose })
        assert.deepEqual(await store.find(purpose, token.digest), token)
        assert.deepEqual(await store.current(purpose, token.userId), token)
        assert.deepEqual(await second.find(purpose, token.digest), token)
        assert.deepEqual(await second.current(purpose, token.userId), token)
      }
    }),

    on('answers null for what is unknown', async (store) => {
      const token = aToken()
      assert.equal(await store.find(token.purpose, token.digest), null)
      assert.equal(await store.current(token.purpose, token.userId), null)
    }),

    on('does not find a token of another purpose', async (store, clock) => {
      const token = await handedOut(store, clock, { purpose: 'reset_password' })
      assert.equal(await store.find('verify_email', token.digest), null)
      assert.equal(await store.current('verify_email', token.userId), null)
      await store.remove('verify_email', token.digest)
      assert.deepEqual(await store.find('reset_password', token.digest), token)
    }),

    on('supersedes the token of the same purpose and user, and no other', async (store, clock) => {
      const older = await handedOut(store, clock)
      const otherPurpose = await handedOut(store, clock, { userId: older.userId, purpose: 'verify_email' })
      const otherUser = await handedOut(store, clock)
      const newer = await handedOut(store, clock, { userId: older.userId })
      assert.equal(await store.find(older.purpose, older.digest), null)
      assert.deepEqual(await store.find(newer.purpose, newer.digest), newer)
      assert.deepEqual(await store.current(newer.purpose, newer.userId), newer)
      for (const token of [otherPurpose, otherUser]) {
        assert.deepEqual(await store.find(token.purpose, token.digest), token)
        assert.deepEqual(await store.current(token.purpose, token.userId), token)
      }
    }),

    on('leaves exactly one of many tokens that are put at once', async (store, clock, second) => {
      const userId = randomUUID() as UserId
      const tokens = Array.from({ length: 32 }, () => minted(clock, { userId }))
      await Promise.all(tokens.map((token, at) => (at % 2 ? store : second).put(token)))
      const found = await Promise.all(tokens.map(({ purpose, digest }) => store.find(purpose, digest)))
      const alive = found.filter((token) => token !== null)
      assert.equal(alive.length, 1)
      assert.deepEqual(await second.current('reset_password', userId), alive[0])
    }),

    on('keeps the expiry of a token that is put again', async (store, clock) => {
      const token = await handedOut(store, clock)
      clock.advance(600)
      await store.put({ ...token, createdAt: clock(), expiresAt: inSeconds(clock, 900) })
      assert.deepEqual(await store.find(token.purpose, token.digest), token)
      assert.deepEqual(await store.current(token.purpose, token.userId), token)
      clock.advance(300)
      assert.equal(await store.find(token.purpose, token.digest), null)
    }),

    on('keeps the expiry of a token that many put again at once', async (store, clock, second) => {
      const token = await handedOut(store, clock)
      clock.advance(1)
      const again = { ...token, createdAt: clock(), expiresAt: inSeconds(clock, 900) }
      await Promise.all(Array.from({ length: 32 }, (_, at) => (at % 2 ? store : second).put(again)))
      assert.deepEqual(await store.find(token.purpose, token.digest), token)
    }),

    on('gives a token that has expired, and is put again, its new expiry', async (store, clock) => {
      const token = await handedOut(store, clock)
      clock.advance(900)
      assert.equal(await store.find(token.purpose, token.digest), null)
      const again = { ...token, createdAt: clock(), expiresAt: inSeconds(clock, 900) }
      await store.put(again)
      assert.deepEqual(await store.find(token.purpose, token.digest), again)
      assert.deepEqual(await store.current(token.purpose, token.userId), again)
    }),

    on('hides an expired token', async (store, clock) => {
      const token = await handedOut(store, clock)
      clock.advance(899)
      assert.deepEqual(await store.find(token.purpose, token.digest), token)
      clock.advance(1)
      assert.equal(await store.find(token.purpose, token.digest), null)
      assert.equal(await store.current(token.purpose, token.userId), null)
      const next = await handedOut(store, clock, { userId: token.userId })
      assert.deepEqual(await store.current(token.purpose, token.userId), next)
    }),

    on('removes a token, and minds no repetition', async (store, clock) => {
      const token = await handedOut(store, clock)
      const bystander = await handedOut(store, clock)
      for (let time = 0; time < 2; time++) {
        await store.remove(token.purpose, token.digest)
        assert.equal(await store.find(token.purpose, token.digest), null)
        assert.equal(await store.current(token.purpose, token.userId), null)
      }
      assert.deepEqual(await store.find(bystander.purpose, bystander.digest), bystander)
    }),

    on('leaves the current token alone when a superseded one is removed', async (store, clock) => {
      const older = await handedOut(store, clock)
      const newer = await handedOut(store, clock, { userId: older.userId })
      await store.remove(older.purpose, older.digest)
      assert.deepEqual(await store.find(newer.purpose, newer.digest), newer)
      assert.deepEqual(await store.current(newer.purpose, newer.userId), newer)
    }),

    on("removes all of a user's tokens, and nobody else's", async (store, clock) => {
      const reset = await handedOut(store, clock)
      const verify = await handedOut(store, clock, { userId: reset.userId, purpose: 'verify_email' })
      const bystander = await handedOut(store, clock)
      await store.removeAllOf(reset.userId)
      for (const { purpose, digest, userId } of [reset, verify]) {
        assert.equal(await store.find(purpose, digest), null)
        assert.equal(await store.current(purpose, userId), null)
      }
      assert.deepEqual(await store.find(bystander.purpose, bystander.digest), bystander)
    }),

    {
      title: 'sweeps at most so many expired tokens, and no live one',
      run: () =>
        afresh(open, async ({ store, clock }) => {
          const live = await handedOut(store, clock)
          const expired = await Promise.all(
            Array.from({ length: 5 }, () => handedOut(store, clock, { expiresAt: inSeconds(clock, 60) })),
          )
          clock.advance(60)
          const swept = [await store.sweep(3), await store.sweep(3), await store.sweep(3)]
          if (sweeps) assert.deepEqual(swept, [3, 2, 0])
          for (const { purpose, digest } of expired) assert.equal(await store.find(purpose, digest), null)
          assert.deepEqual(await store.find(live.purpose, live.digest), live)
          assert.deepEqual(await store.current(live.purpose, live.userId), live)
        }),
    },
  ]
}
