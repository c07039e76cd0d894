// npm run test:long: tests that take minutes or measure times. Run it on an idle machine.
import { delimiter, join } from 'node:path'
import { nodeOf } from './fetch-node.mjs'
import { inParallel, mocha, prepare, suites } from './suites.mjs'

await prepare()
const env = { ...process.env, TEST_LONG: '1' } // see test/support/mocha/long.ts
const codes = [mocha(suites.long, { env }), mocha([...suites.full, ...inParallel], { env })]

console.log('\nUsers with integer ids')
codes.push(mocha(['test/http/**/*.test.ts', ...inParallel], { env: { ...process.env, TEST_IDS: 'integer' } }))

const everyNode = [
  'test/{domain,http,adapters/http}/**/*.test.ts',
  'test/adapters/stores.test.ts',
  'test/adapters/stores/sqlite*.test.ts',
]
for (const major of [22, 24, 26]) {
  const folder = nodeOf(major)
  if (folder === null) {
    console.error(`NOT TRIED: Node ${major}, which the registry does not have for this platform`)
    continue
  }
  console.log(`\nNode ${major}`)
  const PATH = `${folder}${delimiter}${process.env.PATH}`
  codes.push(mocha([...everyNode, ...inParallel], { env: { ...process.env, PATH }, node: join(folder, 'node') }))
}
process.exitCode = codes.every((code) => code === 0) ? 0 : 1
