// npm run test:planted [part of a title]: proves that the tests notice a missing guard. It plants each fault of
// test/planted/*.mjs in a copy of the sources, and the tests of this fault have to fail.
import { spawn } from 'node:child_process'
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { requireNode, root } from './prepare.mjs'

/**
 * `text` occurs once in `file`. One of the `tests`, which are files, has to fail. `only` is a part of the titles to run.
 *
 * @typedef {{ title: string, file: string, text: string, replacement: string, tests: string[], only?: string }} Fault
 */

const copied = ['package.json', 'tsconfig.json', '.mocharc.json', 'bin', 'src', 'test', 'scripts']
const shared = ['node_modules', '.cache', 'examples', 'dist', 'deploy', 'docs']
const limitMilliseconds = 180_000

requireNode()
const wanted = process.argv[2] ?? ''
const faults = (await listed()).filter(({ title }) => title.includes(wanted))
if (faults.length === 0) {
  console.error(`no planted fault has ${JSON.stringify(wanted)} in its title`)
  process.exit(1)
}
await mkdir(join(root, '.cache'), { recursive: true }) // the copies share it
const folders = await Promise.all(Array.from({ length: Math.min(2, availableParallelism()) }, copyOfSources))

const started = Date.now()
/** @type {{ fault: Fault, outcome: string, isCaught: boolean }[]} */
const outcomes = []
/** The runs of tests without a fault, by their parameters. @type {Map<string, ReturnType<typeof run>>} */
const unchanged = new Map()
try {
  const waiting = [...faults]
  await Promise.all(
    folders.map(async (folder) => {
      for (let fault = waiting.shift(); fault !== undefined; fault = waiting.shift()) {
        const result = { fault, ...(await plant(fault, folder)) }
        outcomes.push(result)
        console.log(`${result.isCaught ? 'caught  ' : 'SURVIVED'}  ${fault.title}: ${result.outcome}`)
      }
    }),
  )
} finally {
  await Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true })))
}

const survivors = outcomes.filter(({ isCaught }) => !isCaught)
const seconds = Math.round((Date.now() - started) / 1000)
console.log(`\n${outcomes.length - survivors.length} of ${outcomes.length} planted faults caught, in ${seconds} s`)
for (const { fault, outcome } of survivors) console.log(`SURVIVED  ${fault.file}: ${fault.title}: ${outcome}`)
process.exit(survivors.length === 0 ? 0 : 1)

/** @returns {Promise<Fault[]>} */
async function listed() {
  const folder = join(root, 'test', 'planted')
  const files = (await readdir(folder)).filter((name) => name.endsWith('.mjs')).sort()
  const lists = await Promise.all(files.map((name) => import(pathToFileURL(join(folder, name)).href)))
  return lists.flatMap((list) => list.default)
}

/** @returns {Promise<string>} */
async function copyOfSources() {
  const folder = await mkdtemp(join(tmpdir(), 'portcullis-planted-'))
  await chmod(folder, 0o755) // a test that runs as root changes its user
  await Promise.all(copied.map((name) => cp(join(root, name), join(folder, name), { recursive: true })))
  await Promise.all(shared.map((name) => symlink(join(root, name), join(folder, name))))
  return folder
}

/**
 * @param {Fault} fault
 * @param {string} folder
 */
async function plant({ file, text, replacement, tests, only }, folder) {
  const path = join(folder, file)
  const source = await readFile(path, 'utf8')
  const places = source.split(text).length - 1
  if (places !== 1) return { outcome: `its text occurs ${places} times`, isCaught: false }
  const parameters = [...tests, '--bail', ...(only === undefined ? [] : ['--fgrep', only])]
  const { status, output } = await runUnchanged(folder, parameters)
  if (status !== 0) {
    console.error(output)
    return { outcome: 'its tests do not pass without it, so they prove nothing', isCaught: false }
  }
  await writeFile(
    path,
    source.replace(text, () => replacement),
  )
  try {
    return judged(await run(folder, parameters))
  } finally {
    await writeFile(path, source)
  }
}

/**
 * Faults with the same tests share one run. The caller has planted nothing in its folder yet.
 *
 * @param {string} folder
 * @param {readonly string[]} parameters
 */
function runUnchanged(folder, parameters) {
  const key = parameters.join(' ')
  const known = unchanged.get(key) ?? run(folder, parameters)
  unchanged.set(key, known)
  return known
}

/**
 * A fault that keeps the tests from starting proves nothing.
 *
 * @param {{ status: number | null, output: string }} result
 */
function judged({ status, output }) {
  if (status === null) return { outcome: 'the tests did not end', isCaught: true }
  const [, passed = '0', failed] = /^(\d+) passed, (\d+) failed/m.exec(output) ?? []
  if (failed === undefined) return { outcome: 'the tests did not start', isCaught: false }
  if (failed === '0') return { outcome: `${passed} tests passed`, isCaught: false }
  // Mocha lists a failure as "  1) suite", the inner suites, the title and a colon, each on an indented line.
  const [, list = ''] = /^ {2}1\) ([\s\S]*?):\n/m.exec(output.slice(output.lastIndexOf(' failing'))) ?? []
  const title = list.split('\n').at(-1)?.trim() ?? ''
  return { outcome: title, isCaught: !title.startsWith('"before') }
}

/**
 * @param {string} folder
 * @param {readonly string[]} parameters
 * @returns {Promise<{ status: number | null, output: string }>}
 */
function run(folder, parameters) {
  return new Promise((resolve) => {
    const mocha = join('node_modules', 'mocha', 'bin', 'mocha.js')
    const child = spawn(process.execPath, [mocha, ...parameters], {
      cwd: folder,
      env: { ...process.env, TEST_REQUIRE_SERVERS: '1' }, // a suite that is skipped notices nothing
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const timer = setTimeout(() => child.kill('SIGKILL'), limitMilliseconds)
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
    child.on('close', (status) => {
      clearTimeout(timer)
      resolve({ status, output })
    })
  })
}
