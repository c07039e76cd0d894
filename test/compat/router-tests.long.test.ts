import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { pythonWith } from '../support/project/python.ts'
import { projectFile, projectRoot } from '../support/project/readme-blocks.ts'
import { scratchFolder } from '../support/services/spawned-service.ts'
import { type Bridge, startBridge } from './bridge.ts'

const run = promisify(execFile)
const version = '15.0.5'
const name = `fastapi-users-${version}`
const cache = join(projectRoot, '.cache', name)

const tools = ['pytest', 'pytest-asyncio', 'pytest-mock', 'httpx']
const source = ['--no-deps', '--no-binary', 'fastapi-users', '-d', cache, `fastapi-users==${version}`]

/** The Python with fastapi-users, whose tests only the source package has. */
async function install(): Promise<{ python: string; theirs: string }> {
  const installing = ['install', '-q', `fastapi-users[oauth]==${version}`, ...tools]
  const python = await pythonWith(name, installing, ['download', '-q', ...source])
  const theirs = join(cache, `fastapi_users-${version}`, 'tests')
  if (!existsSync(theirs)) await run('tar', ['xzf', join(cache, `fastapi_users-${version}.tar.gz`), '-C', cache])
  return { python, theirs }
}

describe('the router tests of fastapi-users', () => {
  let bridge: Bridge
  before(async () => {
    bridge = await startBridge()
  })
  after(() => bridge?.close())

  it('pass with the preset, except for the cases in the table', async function () {
    this.timeout(1_800_000)
    const { python, theirs } = await install()
    const folder = scratchFolder()
    const tests = join(folder, 'tests')
    await mkdir(tests)
    const names = (await readdir(theirs)).filter((name) => name.startsWith('test_router_') || name === '__init__.py')
    for (const name of names) await cp(join(theirs, name), join(tests, name))
    await cp(fileURLToPath(new URL('conftest.py', import.meta.url)), join(tests, 'conftest.py'))
    const markers = 'asyncio_mode = auto\nmarkers =\n  router\n  oauth\n'
    await writeFile(join(folder, 'pytest.ini'), `[pytest]\n${markers}`)
    const report = join(folder, 'report.xml')
    const env = { ...process.env, BRIDGE_URL: bridge.url, PYTHONDONTWRITEBYTECODE: '1' }
    const args = ['-m', 'pytest', '-q', '-p', 'no:cacheprovider', '--tb=short', `--junitxml=${report}`]
    const { stdout } = await run(python, args, { cwd: folder, env, maxBuffer: 1 << 26 }).catch((failed) => failed)
    const { count, failed } = resultsOf(await readFile(report, 'utf8'))
    expect(count, stdout).to.be.greaterThan(200)
    expect([...failed].sort(), stdout).to.deep.equal([...expectedFailures()].sort())
  })
})

/** The cases in the table of the page. */
function expectedFailures(): ReadonlySet<string> {
  const page = projectFile('docs/fastapi-users-tests.md')
  const rows = page.split('\n').filter((line) => line.startsWith('| `'))
  return new Set(
    rows.flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`([^`]+)`/g)].map(([, name = '']) => name)),
  )
}

/** The failed cases by the report of pytest, without their parameters: `TestCallback.test_active_user` of the router `oauth`. */
function resultsOf(report: string) {
  const cases = [...report.matchAll(/<testcase classname="([^"]*)" name="([^"[]*)[^>]*?(?:\/>|>(.*?)<\/testcase>)/gs)]
  const failed = cases
    .filter(([, , , inner = '']) => /<(failure|error)/.test(inner))
    .map(([, where = '', name = '']) => `${where.replace('tests.test_router_', '')}.${name}`)
  return { count: cases.length, failed: new Set(failed) }
}
