import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { maxRefusedLogins, type RefusedLogins } from '../../application/ports/stores/refused-logins.ts'
import type { RefusedLogin } from '../../domain/refused-login.ts'
import { type Cases, range } from '../cases.ts'
import { callers } from '../users-scene.ts'

const day = 86_400

/** The promises of `RefusedLogins` of `application/ports`, except the bound: 100 000 keys take too long. */
export function refusedLoginsContract({ on, onNew, assertSwept }: Cases<RefusedLogins>): void {
  const aKey = (): string => `of any form: ${randomUUID()}`
  const refused = (at: Date, detail: string | null = null): RefusedLogin => ({ reason: 'wrong_password', detail, at })

  on('has the logins of a key, and of no other one, on every handle, the latest first', async (scene) => {
    const { store, second, inSeconds } = scene
    const [key, other] = [aKey(), aKey()]
    const first: RefusedLogin = { reason: 'limit_reached', detail: 'passwordsPerAccount', at: inSeconds(0) }
    const then: RefusedLogin = { reason: 'not_verified', detail: null, at: inSeconds(1) }
    assert.deepEqual(await store.list(key, inSeconds(-day)), [])
    await store.add(key, first)
    await second.add(key, then)
    await second.add(other, refused(inSeconds(2)))
    assert.deepEqual(await store.list(key, inSeconds(-day)), [then, first])
    assert.deepEqual(await second.list(key, inSeconds(1)), [then])
    assert.deepEqual(await second.list(key, inSeconds(2)), [])
  })

  on(`keeps the last ${maxRefusedLogins} of a key`, async ({ store, second, inSeconds }) => {
    const key = aKey()
    const logins = range(maxRefusedLogins + 2).map((at) => refused(inSeconds(at), `${at}`))
    for (const login of logins) await store.add(key, login)
    assert.deepEqual(await second.list(key, inSeconds(-day)), logins.toReversed().slice(0, maxRefusedLogins))
  })

  on('keeps every one of concurrent logins of a key', async ({ store, inSeconds, atOnce }) => {
    const key = aKey()
    const names = range(Math.min(callers, maxRefusedLogins)).map((at) => `${at}`)
    await atOnce(names, (one, name) => one.add(key, refused(inSeconds(0), name)))
    const kept = await store.list(key, inSeconds(-day))
    assert.deepEqual(kept.map(({ detail }) => detail).toSorted(), names.toSorted())
  })

  onNew('deletes the keys whose latest login is old, some at a time', async ({ store, second, inSeconds }) => {
    const [kept, renewed] = [aKey(), aKey()]
    for (const key of [...range(5).map(aKey), renewed]) await store.add(key, refused(inSeconds(-1)))
    for (const key of [kept, renewed]) await second.add(key, refused(inSeconds(0)))
    await assertSwept({ sweep: (limit) => store.sweep(inSeconds(0), limit) })
    assert.equal((await second.list(kept, inSeconds(-day))).length, 1)
    assert.equal((await second.list(renewed, inSeconds(-day))).length, 2)
  })
}
