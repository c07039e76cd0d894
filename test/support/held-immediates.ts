// node --import tsx held-immediates.ts <url>: what a program's fake timers do to `setImmediate` before it opens a Redis.
// Exit code 0: a session that was written is found.
import { openStore } from '../../src/index.ts'
import { aSession } from '../../src/testing/builders.ts'

const [url = ''] = process.argv.slice(2)
// Safe: nobody looks at what it answers.
globalThis.setImmediate = (() => undefined) as unknown as typeof setImmediate
const { sessions, close } = await openStore({ kind: 'redis', url })
const session = aSession()
await sessions.put(session)
process.exitCode = (await sessions.find(session.digest))?.digest === session.digest ? 0 : 1
await close()
