// A provider of OAuth 2.0 in a process of its own, whose token endpoints `/hangs`, `/drips` and so on do what they say.
import { misbehaviour, startFakeProvider } from '../test/support/fake-provider.ts'

const { origin, answer } = await startFakeProvider()
for (const [name, misdeed] of Object.entries(misbehaviour)) answer(`${new URL(origin).host}/${name}`, misdeed)
console.log(`listening ${origin}`)
