// @ts-check
// node prove.js runs the suites of the built-in stores against this store.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { fixedClock, storeSuites } from 'portcullis/testing'
import open from './my-store.js'

describe('my store', () => {
  storeSuites(
    { describe, it, after },
    {
      roles: ['users'],
      async open() {
        const clock = fixedClock()
        const dataFolder = mkdtempSync(join(tmpdir(), 'my-store-'))
        const store = await open({ tenant: 'default', dataFolder, clock, warn: console.warn })
        return {
          store,
          clock,
          second: store, // the records are in this process, so there is no second handle
          async close() {
            await store.close?.()
            rmSync(dataFolder, { recursive: true })
          },
        }
      },
    },
  )
})
