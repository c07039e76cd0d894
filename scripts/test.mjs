// npm test: installs and builds what is missing, then runs the tests. The last line counts them.
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { emitDeclarations } from './declarations.mjs'
import { build, install, requireNode, root } from './prepare.mjs'
import { runTests } from './test-lanes.mjs'

/** What measures times, and would measure the tests beside it as well; files of a group ask little of each other. */
const alone = [
  ['test/adapters/crypto/argon2-times.test.ts'], // compares the times of hashes
  [
    'test/answer-times.test.ts', // tells answers apart by their times, and takes one processor
    'test/answers-amid-faults.test.ts', // wants the slowest of a hundred reads to be quick, and mostly waits
  ],
  ['test/overload.test.ts'], // compares times under load with those without
]

/**
 * What leaves its processor idle for most of its time: for a lease, a time-out or an outage to be over. One of these
 * at a time takes little from those beside it.
 */
const waiting = [
  'test/shutdown.test.ts',
  'test/outages.test.ts',
  'test/handler-faults.test.ts',
  'test/workers/relay.test.ts',
  'test/workers/worker.test.ts',
  'test/tenants/registry.test.ts',
  'test/log-readers.test.ts',
  'test/embedded-deliveries.test.ts',
  'test/oauth/faults.test.ts',
  'test/adapters/events/delivery.test.ts',
  'test/adapters/events/handler-module.test.ts',
  'test/adapters/events/delivery-loop.test.ts',
  'test/adapters/oauth/oauth2.test.ts',
  'test/adapters/oauth/openid-connect.test.ts',
  'test/adapters/stores/mongo-monitors.test.ts',
  'test/adapters/stores/mongo.test.ts',
  'test/adapters/stores/redis-outages.test.ts',
  'test/adapters/stores/shared.test.ts',
  'test/adapters/stores/sqlite.test.ts',
]

const isLong = process.env.TEST_LONG === '1'

requireNode()
install()
await build()
const given = process.argv.slice(2)
process.exitCode = given.length > 0 ? runHere(given) : (await runAll()) ? 0 : 1

/** Files, or whatever else mocha understands. */
function runHere(words) {
  const mocha = join(root, 'node_modules', 'mocha', 'bin', 'mocha.js')
  const { status, signal } = spawnSync(process.execPath, [mocha, ...words], { cwd: root, stdio: 'inherit' })
  if (signal !== null) console.error(`the test run was ended by ${signal}`)
  return status ?? 1
}

function runAll() {
  emitDeclarations() // once, before several lanes want them at a time
  const files = readdirSync(join(root, 'test'), { recursive: true })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => `test/${name.replaceAll('\\', '/')}`)
    .sort((a, b) => depth(a) - depth(b) || (a < b ? -1 : 1))
  const { TEST_LANES: lanes } = process.env
  const beside = lanes === undefined ? waiting : []
  const placed = [...alone.flat(), ...beside]
  const missing = placed.filter((file) => !files.includes(file))
  if (missing.length > 0) throw new Error(`to be run alone or beside the others, but not there: ${missing.join(', ')}`)
  const { timeout, import: imports } = JSON.parse(readFileSync(join(root, '.mocharc.json'), 'utf8'))
  return runTests({
    alone,
    together: files.filter((file) => !placed.includes(file)),
    waiting: beside,
    // No more than processors: many tests hold the service to its bounds of 2 s, and want a share of one. When those
    // that wait are through, what is left is small.
    lanes: Number(lanes ?? availableParallelism()),
    limitSeconds: isLong ? 1200 : 400,
    cwd: root,
    execArgv: imports.flatMap((name) => ['--import', name]),
    timeout,
    color: process.stdout.isTTY === true && !process.env.NO_COLOR,
    print: (text) => process.stdout.write(text),
  })
}

/** Suites of the whole service are the longest, and nearest to the root: run first, they leave no lane idle at the end. */
function depth(file) {
  return file.split('/').length
}
