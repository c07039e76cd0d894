// npm test, npm run test:core and npm run test:full run a suite, or the given files. The last line counts the tests.
import { inParallel, mocha, prepare, suites } from './suites.mjs'

const [suite, ...files] = process.argv.slice(2)
await prepare()
process.exitCode = mocha(files.length > 0 ? files : [...suites[suite], ...inParallel])
