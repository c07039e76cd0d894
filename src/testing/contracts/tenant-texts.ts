import assert from 'node:assert/strict'
import type { TenantTexts } from '../../application/ports/stores/tenant-texts.ts'
import { type Cases, range } from '../cases.ts'
import { count } from '../users-scene.ts'

/** The promises of `TenantTexts` in `application/ports`. */
export function tenantTextsContract({ onNew }: Cases<TenantTexts>): void {
  onNew('reads the text of a name, and exchanges it only if it is the expected one', async ({ store, second }) => {
    assert.equal(await store.read('keys'), null)
    assert.equal(await store.exchange('keys', 'one', 'two'), false)
    assert.equal(await store.read('keys'), null)
    assert.equal(await store.exchange('keys', null, 'one'), true)
    assert.equal(await second.read('keys'), 'one')
    assert.equal(await second.exchange('keys', null, 'two'), false)
    assert.equal(await second.exchange('keys', 'two', 'three'), false)
    assert.equal(await second.exchange('keys', 'one', 'two'), true)
    assert.equal(await store.read('keys'), 'two')
    assert.equal(await store.read('others'), null)
  })

  onNew('keeps texts of other names apart', async ({ store, second }) => {
    for (const name of ['secret', 'field:handle', 'field:Handle']) {
      assert.equal(await store.exchange(name, null, `of ${name}`), true)
    }
    for (const name of ['secret', 'field:handle', 'field:Handle']) assert.equal(await second.read(name), `of ${name}`)
  })

  onNew('lets exactly one of many concurrent exchanges of a text succeed', async ({ store, second, atOnce }) => {
    for (const expected of [null, 'one', 'a'.repeat(20_000)]) {
      const name = `keys ${expected?.length}`
      if (expected !== null) await store.exchange(name, null, expected)
      const texts = range(16).map((at) => `text ${at}`)
      const outcomes = await atOnce(texts, (one, text) => one.exchange(name, expected, text))
      assert.equal(count(outcomes, true), 1)
      for (const handle of [store, second]) assert.equal(await handle.read(name), texts[outcomes.indexOf(true)])
    }
  })
}
