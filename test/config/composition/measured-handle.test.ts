import { expect } from 'chai'
import { type Metrics, openMetrics } from '../../../src/adapters/metrics/metrics.ts'
import type { StoreHandle } from '../../../src/adapters/stores/store-backend.ts'
import { measuredHandle } from '../../../src/config/composition/measured-handle.ts'
import { storeSuites } from '../../../src/testing/store-suites.ts'
import { memoryUnderTest } from '../../support/stores/memory.ts'

/** An object of a class with the same members. Its methods work on this object only, as those with private fields do. */
function ofClass<T extends object>(members: T): T {
  class Members {}
  for (const [name, member] of Object.entries(members)) {
    const value = typeof member === 'object' ? ofClass(member) : member
    const method = function (this: unknown, ...input: unknown[]) {
      if (!(this instanceof Members)) throw new TypeError(`${name} is called on another object`)
      return value(...input)
    }
    Object.defineProperty(Members.prototype, name, { value: typeof value === 'function' ? method : value })
  }
  return new Members() as T
}

const metrics = openMetrics([])
const measured = (handle: object, by: Metrics = metrics) =>
  measuredHandle(ofClass(handle as StoreHandle), 'ofClasses', by)

describe('a measured store that is made of classes', () => {
  storeSuites(
    { describe, it, after },
    {
      ...memoryUnderTest,
      async open() {
        const opened = await memoryUnderTest.open()
        return { ...opened, store: measured(opened.store), second: measured(opened.second) }
      },
    },
  )

  it('keeps the methods of the handle', async () => {
    const handle = { prepare: async () => undefined, ping: async () => undefined, close: async () => undefined }
    const { store } = await memoryUnderTest.open()
    const { prepare, ping, close, tenantTexts } = measured({ ...store, ...handle })
    await Promise.all([prepare(), ping(), close()])
    expect(await tenantTexts?.exchange('name', null, 'text')).to.equal(true)
  })
})
