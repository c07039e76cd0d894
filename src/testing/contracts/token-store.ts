import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { TokenStore } from '../../application/ports/stores/token-store.ts'
import { type Email, emailKey } from '../../domain/email.ts'
import type { UserId } from '../../domain/ids.ts'
import type { OneTimeToken } from '../../domain/one-time-token.ts'
import { aToken } from '../builders.ts'
import { type Cases, range } from '../cases.ts'

/** The promises of `TokenStore` in `application/ports`. */
export function tokenStoreContract({ on, onNew, assertSwept }: Cases<TokenStore>): void {
  /** A token that was issued now, by the store's clock, and lives for 15 minutes. */
  function issued(clock: () => Date, fields: Partial<OneTimeToken> = {}): OneTimeToken {
    const now = clock().getTime()
    return aToken({ createdAt: new Date(now), expiresAt: new Date(now + 900_000), ...fields })
  }

  async function stored(store: TokenStore, clock: () => Date, fields: Partial<OneTimeToken> = {}) {
    const token = issued(clock, fields)
    await store.put(token)
    return token
  }

  on('gives back every field of a token, by digest and as the current one', async ({ store, second, clock }) => {
    const email = emailKey('ada@bücher.example' as Email) // safe, as below: they are addresses
    const newEmail = 'Jöhn+new@example.com' as Email
    for (const [purpose, fact] of [
      ['verify_email', { email }],
      ['reset_password', { email, passwordVersion: 12 }],
      ['change_email', { email, generation: 1_764_204_000_000, newEmail }],
      ['invite', { email, passwordVersion: 1 }],
      ['keep_factors', { email, resetAt: 1_764_204_000_000 }],
    ] as const) {
      const token = await stored(store, clock, { purpose, fact })
      assert.deepEqual(await store.find(purpose, token.digest), token)
      assert.deepEqual(await store.current(purpose, token.userId), token)
      assert.deepEqual(await second.find(purpose, token.digest), token)
      assert.deepEqual(await second.current(purpose, token.userId), token)
    }
  })

  on('does not find a token of another purpose', async ({ store, clock }) => {
    const token = await stored(store, clock, { purpose: 'reset_password' })
    assert.equal(await store.find('verify_email', token.digest), null)
    assert.equal(await store.current('verify_email', token.userId), null)
    await store.remove('verify_email', token.digest)
    assert.deepEqual(await store.find('reset_password', token.digest), token)
  })

  on('supersedes the token of the same purpose and user, and no other', async ({ store, clock }) => {
    const older = await stored(store, clock)
    const otherPurpose = await stored(store, clock, { userId: older.userId, purpose: 'verify_email' })
    const otherUser = await stored(store, clock)
    const newer = await stored(store, clock, { userId: older.userId })
    assert.equal(await store.find(older.purpose, older.digest), null)
    assert.deepEqual(await store.find(newer.purpose, newer.digest), newer)
    assert.deepEqual(await store.current(newer.purpose, newer.userId), newer)
    for (const token of [otherPurpose, otherUser]) {
      assert.deepEqual(await store.find(token.purpose, token.digest), token)
      assert.deepEqual(await store.current(token.purpose, token.userId), token)
    }
  })

  on('keeps exactly one of many tokens that are put for one user at once', async ({ store, second, clock, atOnce }) => {
    const userId = randomUUID() as UserId
    const tokens = range(32).map(() => issued(clock, { userId }))
    await atOnce(tokens, (one, token) => one.put(token))
    const found = await Promise.all(tokens.map(({ purpose, digest }) => store.find(purpose, digest)))
    const alive = found.filter((token) => token !== null)
    assert.equal(alive.length, 1)
    assert.deepEqual(await second.current('reset_password', userId), alive[0])
  })

  on('keeps the expiry of a live token that many callers put again', async ({ store, clock, inSeconds, atOnce }) => {
    const token = await stored(store, clock)
    clock.advance(600)
    const again = { ...token, createdAt: clock(), expiresAt: inSeconds(900) }
    await atOnce(range(32), (one) => one.put(again))
    assert.deepEqual(await store.find(token.purpose, token.digest), token)
    assert.deepEqual(await store.current(token.purpose, token.userId), token)
    clock.advance(300)
    assert.equal(await store.find(token.purpose, token.digest), null)
  })

  on('gives an expired token that is put again its new expiry', async ({ store, clock, inSeconds }) => {
    const token = await stored(store, clock)
    clock.advance(900)
    assert.equal(await store.find(token.purpose, token.digest), null)
    const again = { ...token, createdAt: clock(), expiresAt: inSeconds(900) }
    await store.put(again)
    assert.deepEqual(await store.find(token.purpose, token.digest), again)
    assert.deepEqual(await store.current(token.purpose, token.userId), again)
  })

  on('hides an expired token', async ({ store, clock }) => {
    const token = await stored(store, clock)
    clock.advance(899)
    assert.deepEqual(await store.find(token.purpose, token.digest), token)
    clock.advance(1)
    assert.equal(await store.find(token.purpose, token.digest), null)
    assert.equal(await store.current(token.purpose, token.userId), null)
  })

  on('removes a token, and ignores a second removal', async ({ store, clock }) => {
    const token = await stored(store, clock)
    const bystander = await stored(store, clock)
    for (let time = 0; time < 2; time++) {
      await store.remove(token.purpose, token.digest)
      assert.equal(await store.find(token.purpose, token.digest), null)
      assert.equal(await store.current(token.purpose, token.userId), null)
    }
    assert.deepEqual(await store.find(bystander.purpose, bystander.digest), bystander)
  })

  on('keeps the current token when a superseded one is removed', async ({ store, clock }) => {
    const older = await stored(store, clock)
    const newer = await stored(store, clock, { userId: older.userId })
    await store.remove(older.purpose, older.digest)
    assert.deepEqual(await store.find(newer.purpose, newer.digest), newer)
    assert.deepEqual(await store.current(newer.purpose, newer.userId), newer)
  })

  on('removes all tokens of a user, and of no other user', async ({ store, clock }) => {
    const reset = await stored(store, clock)
    const verify = await stored(store, clock, { userId: reset.userId, purpose: 'verify_email' })
    const change = await stored(store, clock, { userId: reset.userId, purpose: 'change_email' })
    const bystander = await stored(store, clock)
    await store.removeAllOf(reset.userId)
    for (const { purpose, digest, userId } of [reset, verify, change]) {
      assert.equal(await store.find(purpose, digest), null)
      assert.equal(await store.current(purpose, userId), null)
    }
    assert.deepEqual(await store.find(bystander.purpose, bystander.digest), bystander)
  })

  onNew('sweeps at most the given number of expired tokens, and no live one', async ({ store, clock, inSeconds }) => {
    const live = await stored(store, clock)
    const expired = await Promise.all(range(5).map(() => stored(store, clock, { expiresAt: inSeconds(60) })))
    clock.advance(60)
    await assertSwept(store)
    for (const { purpose, digest } of expired) assert.equal(await store.find(purpose, digest), null)
    assert.deepEqual(await store.find(live.purpose, live.digest), live)
    assert.deepEqual(await store.current(live.purpose, live.userId), live)
  })
}
