// node --import tsx held-ticks.ts <folder>: what a program's fake timers do to `process.nextTick` before SQLite is loaded.
// Exit code 0: a session that was removed is not found any more.
import { aSession } from '../../src/testing/builders.ts'

const [dataFolder = ''] = process.argv.slice(2)
process.nextTick = () => undefined
const { openSqlite } = await import('../../src/adapters/stores/sqlite/sqlite.ts')
const handle = await openSqlite({ url: null, dataFolder, clock: () => new Date(), warn() {} })
await handle.prepare()
const { sessions } = handle
const session = aSession()
await sessions?.put(session)
await sessions?.find(session.digest)
await sessions?.remove(session.digest)
process.exitCode = (await sessions?.find(session.digest)) === null ? 0 : 1
await handle.close()
