// npm run test:long: all the tests, the costly ones with more rounds (see test/support/long.ts).
import { availableParallelism } from 'node:os'

process.env.TEST_LONG = '1'
// As .ci/run: it has time, and what is held to seconds shares no processor with a third file.
process.env.TEST_LANES ??= `${availableParallelism()}`
await import('./test.mjs')
