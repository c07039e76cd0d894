// Another process on a SQLite file: inserts users with the addresses it is sent, all at once, and answers the
// outcomes. Given `stay`, it closes nothing afterwards.
import { openSqlite } from '../../src/adapters/stores/sqlite/sqlite.ts'
import type { Email } from '../../src/domain/email.ts'
import { anEvent, aUser } from '../../src/testing/builders.ts'

const [dataFolder = '', afterwards] = process.argv.slice(2)
const handle = await openSqlite({ url: null, dataFolder, clock: () => new Date(), warn() {} })
await handle.prepare()
process.send?.('ready')

process.once('message', async (emails: readonly Email[]) => {
  const outcomes = await Promise.all(
    emails.map((email) => {
      const user = aUser({ email })
      return handle.users.users.insert(user, [anEvent(user)]).catch(String)
    }),
  )
  process.send?.(outcomes)
  process.disconnect()
  if (afterwards !== 'stay') await handle.close()
})
