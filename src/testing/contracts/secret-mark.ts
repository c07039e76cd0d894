import assert from 'node:assert/strict'
import type { SecretMark } from '../../application/ports/stores/secret-mark.ts'
import { type Cases, range } from '../cases.ts'
import { count } from '../users-scene.ts'

/** The promises of `SecretMark` in `application/ports`. */
export function secretMarkContract({ onNew }: Cases<SecretMark>): void {
  onNew('stores the mark of the first secret and compares later ones with it', async ({ store, second }) => {
    assert.equal(await store.check('mark'), 'first')
    assert.equal(await store.check('mark'), 'same')
    assert.equal(await store.check('another'), 'other')
    assert.equal(await second.check('another'), 'other')
    assert.equal(await second.check('mark'), 'same')
  })

  onNew('replaces the mark, also where there is none', async ({ store, second }) => {
    await store.replace('mark')
    assert.equal(await second.check('mark'), 'same')
    await second.replace('another')
    assert.equal(await store.check('mark'), 'other')
    assert.equal(await store.check('another'), 'same')
  })

  onNew('keeps marks of other names apart', async ({ store, second }) => {
    assert.equal(await store.check('mark'), 'first')
    assert.equal(await store.check('other mark', 'field:handle'), 'first')
    assert.equal(await second.check('other mark', 'field:handle'), 'same')
    assert.equal(await second.check('mark', 'field:handle'), 'other')
    await second.replace('mark', 'field:handle')
    assert.equal(await store.check('mark', 'field:handle'), 'same')
    assert.equal(await store.check('mark'), 'same')
  })

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
    assert.equal(await store.check('two', 'keys'), 'same')
    assert.equal(await store.read('others'), null)
  })

  onNew('reads and exchanges the mark of the secret by its name', async ({ store, second }) => {
    await store.check('mark')
    assert.equal(await second.read('secret'), 'mark')
    assert.equal(await second.exchange('secret', 'mark', 'another'), true)
    assert.equal(await store.check('another'), 'same')
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

  onNew('answers first to exactly one of many concurrent first starts', async ({ atOnce }) => {
    const marks = range(16).map((at) => (at < 8 ? 'mark' : 'another'))
    const outcomes = await atOnce(marks, (one, mark) => one.check(mark))
    assert.equal(count(outcomes, 'first'), 1)
    const winner = marks[outcomes.indexOf('first')]
    for (const [at, outcome] of outcomes.entries()) {
      if (outcome !== 'first') assert.equal(outcome, marks[at] === winner ? 'same' : 'other')
    }
  })
}
