import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { call, goodPassword, logInByCookie, register } from '../support/http/client.ts'
import { portcullis } from '../support/process/command-line.ts'
import { environmentOf } from '../support/process/commands.ts'
import { PackedProject } from '../support/project/packed-project.ts'
import { blocksOf, projectFile, projectRoot } from '../support/project/readme-blocks.ts'
import { freePort } from '../support/servers/ports.ts'
import { scratchFolder, spawnService } from '../support/services/spawned-service.ts'

const folder = 'examples/custom-store'
const store = projectFile(`${folder}/journal-store.js`)
const prove = projectFile(`${folder}/prove.js`)

/** The suites sync their files at each write, which costs nothing on a disk in memory. */
const env = environmentOf(existsSync('/dev/shm') ? { TMPDIR: '/dev/shm' } : {})

interface Proof {
  readonly code: number
  readonly passed: number
  /** Titles of the tests that failed. */
  readonly failed: readonly string[]
}

function proved(program: string, cwd: string): Promise<Proof> {
  return new Promise((resolve) => {
    execFile(process.execPath, [program], { cwd, env, timeout: 100_000, maxBuffer: 2 ** 26 }, (error, stdout) => {
      const failed = [...stdout.matchAll(/^ +not ok \d+ - (.*)$/gm)].map(([, title = '']) => title)
      const passed = Number(/^# pass (\d+)$/m.exec(stdout)?.[1] ?? 0)
      resolve({ code: error === null ? 0 : Number(error.code ?? -1), passed, failed })
    })
  })
}

describe('examples/custom-store', () => {
  let project: PackedProject
  before(async () => {
    project = await PackedProject.create()
    project.write('journal-store.js', store)
    project.write('prove.js', prove)
  })
  after(() => project?.remove())

  it('keeps every promise, with the command of its README', async () => {
    const [command = ''] = blocksOf(projectFile(`${folder}/README.md`)).map(({ text }) => text)
    expect(command).to.equal('npm run build && node examples/custom-store/prove.js\n')
    const { passed, ...others } = await proved(`${folder}/prove.js`, projectRoot)
    expect(others).to.deep.equal({ code: 0, failed: [] })
    expect(passed).to.equal(125)
  })

  it('compiles and works unchanged in a project with the package', async () => {
    // The libraries are checked where the whole package is.
    const options = { checkJs: true, noEmit: true, skipLibCheck: true }
    expect(await project.compile(['journal-store.js', 'prove.js'], options)).to.equal('')
    expect((await proved('prove.js', project.folder)).failed).to.deep.equal([])
  })

  it('registers a user as its README shows', async () => {
    const { text } = blocksOf(projectFile(`${folder}/README.md`)).find(({ language }) => language === 'js') ?? {
      text: '',
    }
    project.write('use.js', text)
    expect(await project.run('use.js')).to.equal('ada@example.com\n')
  })

  it('fails its suites when it breaks a promise', async () => {
    const text = "if (state.users.get(user.id)?.version !== user.version) return 'stale'"
    expect(store).to.include(text)
    project.write('fault/journal-store.js', store.replaceAll(text, 'if (!state.users.has(user.id)) return "stale"'))
    const { code, failed } = await proved(project.write('fault/prove.js', prove), project.folder)
    expect(code).to.equal(1)
    expect(failed).to.include('lets exactly one of many concurrent replaces of the same version win')
  })

  it('keeps every answered write when its process is killed while it writes a line', async () => {
    const path = join(project.folder, 'users.jsonl')
    const opening = `import { openJournalStore } from './journal-store.js'
      import { aUser } from 'portcullis/testing'
      const { users, outbox, close } = openJournalStore(${JSON.stringify(path)})\n`
    const write = project.write(
      'write.js',
      `${opening}for (;;) {
      const user = aUser()
      await users.insert(user, [])
      process.stdout.write(user.id + '\\n')
    }`,
    )
    project.write(
      'read.js',
      `${opening}let ids = ''
      for await (const chunk of process.stdin) ids += chunk
      const found = await Promise.all(ids.trim().split('\\n').map((id) => users.find(id)))
      console.log(found.filter((user) => user?.createdAt instanceof Date).length)
      close()`,
    )

    const writer = spawn(process.execPath, [write], { cwd: project.folder, env, stdio: ['ignore', 'pipe', 'inherit'] })
    let answered = ''
    for await (const chunk of writer.stdout) {
      answered += chunk
      if (answered.split('\n').length > 200) break
    }
    writer.kill('SIGKILL')
    if (writer.exitCode === null && writer.signalCode === null) await once(writer, 'exit')
    appendFileSync(path, '[["users","half of')

    const ids = answered.slice(0, answered.lastIndexOf('\n'))
    for (const _ of ['first', 'and once more']) {
      const reader = spawn(process.execPath, [join(project.folder, 'read.js')], { cwd: project.folder, env })
      reader.stdin.end(ids)
      const [found] = await once(reader.stdout, 'data')
      await once(reader, 'exit')
      expect(Number(found)).to.equal(ids.split('\n').length)
    }
  })
})

describe('examples/own-store', () => {
  const module = join(projectRoot, 'examples/own-store/my-store.js')
  const ofUsers = { PORTCULLIS_STORES__USERS__KIND: 'module', PORTCULLIS_STORES__USERS__MODULE: module }
  const builtIn = { PORTCULLIS_STORES__SESSIONS__KIND: 'sqlite', PORTCULLIS_STORES__TOKENS__KIND: 'sqlite' }

  it('keeps every promise', async () => {
    const { passed, ...others } = await proved('examples/own-store/prove.js', projectRoot)
    expect(others).to.deep.equal({ code: 0, failed: [] })
    expect(passed).to.equal(125)
  })

  it('keeps the users of a service, with sessions in SQLite and measured', async () => {
    const metrics = await freePort()
    const env = { ...ofUsers, ...builtIn, PORTCULLIS_METRICS__PORT: String(metrics) }
    const service = await spawnService(env, scratchFolder())
    await register(service.url, 'ada@example.com')
    const cookie = await logInByCookie(service.url, 'ada@example.com', goodPassword)
    expect((await call(service.url, 'GET', '/users/me', { headers: { cookie } })).status).to.equal(200)
    const figures = await (await fetch(`http://127.0.0.1:${metrics}/metrics`)).text()
    expect(figures).to.match(/_count\{store="module",records="users",operation="write"\} [1-9]/)
    expect(await service.end('SIGTERM')).to.equal(0)
  })

  it('leaves the other roles to other stores, as config check says', async () => {
    const cwd = scratchFolder()
    const { code, err } = await portcullis(['config', 'check'], { cwd, env: ofUsers })
    expect(code).to.equal(2)
    expect(err).to.include(
      `stores.sessions.kind: ${module} cannot store sessions: it has no sessions; choose another store with stores.sessions.kind`,
    )
    expect((await portcullis(['config', 'check'], { cwd, env: { ...ofUsers, ...builtIn } })).code).to.equal(0)
    const gone = { ...ofUsers, ...builtIn, PORTCULLIS_STORES__USERS__MODULE: 'gone.js' }
    const missing = `stores.users.module: there is no file ${join(cwd, 'gone.js')} (environment`
    for (const command of [['config', 'check'], ['serve']]) {
      expect((await portcullis(command, { cwd, env: gone })).err).to.include(missing)
    }
  })
})
