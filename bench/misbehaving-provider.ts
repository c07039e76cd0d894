// An OAuth 2.0 provider in its own process. Its token endpoints `/hangs`, `/drips` and so on behave like their names.
import { misbehaviour, startFakeProvider } from '../test/support/providers/fake-provider.ts'

const { origin, answer } = await startFakeProvider()
for (const [name, misdeed] of Object.entries(misbehaviour)) answer(`${new URL(origin).host}/${name}`, misdeed)
console.log(`listening ${origin}`)
