// @ts-check
// node prove.js runs the suites of the built-in stores against this store.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { fixedClock, storeSuites } from 'portcullis/testing'
import { openJournalStore } from './journal-store.js'

describe('the journal store', () => {
  storeSuites(
    { describe, it, after },
    {
      roles: ['users'],
      async open() {
        const clock = fixedClock()
        const folder = mkdtempSync(join(tmpdir(), 'journal-store-'))
        const store = openJournalStore(join(folder, 'users.jsonl'), { clock })
        return {
          store,
          clock,
          second: store, // only one process may open the file, so there is no second handle
          async close() {
            store.close()
            rmSync(folder, { recursive: true })
          },
        }
      },
    },
  )
})
