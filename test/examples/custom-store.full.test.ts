import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { environmentOf } from '../support/commands.ts'
import { PackedProject } from '../support/packed-project.ts'
import { blocksOf, projectFile, projectRoot } from '../support/readme-blocks.ts'

const folder = 'examples/custom-store'
const store = projectFile(`${folder}/journal-store.js`)
const prove = projectFile(`${folder}/prove.js`)

/** Each takes one promise away, and breaks a test whose title says which. */
const faults = [
  {
    text: "if (state.users.get(user.id)?.version !== user.version) return 'stale'",
    replacement: 'if (!state.users.has(user.id)) return "stale"',
    broken: 'lets exactly one of many concurrent replaces of the same version win',
  },
  {
    text: "commit(['users', user.id, null], ...queued(user.id, events))",
    replacement: "commit(['users', user.id, null])",
    broken: 'delivers the events of a removed user in order, the removal last',
  },
  {
    text: 'if (queue === undefined || queue.leaseId !== lease.leaseId) return false',
    replacement: 'if (queue === undefined) return false',
    broken: 'changes nothing for the holder of a lost lease',
  },
  {
    text: 'if (head === undefined || queue.heldUntil > now) continue',
    replacement: 'if (head === undefined) continue',
    broken: 'holds the queue of a user while its first event is leased, and no other queue',
  },
  {
    text: "return user.oauthAccounts.some((account) => isOthers(byAccount.get(accountKey(account)))) ? 'account_taken' : null",
    replacement: 'return null',
    broken: 'stores exactly one of many concurrent inserts of an account',
  },
]

/** Files of a suite are synced at each write: where memory is a disk, that costs nothing. */
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

  it('keeps every promise, by the command of its README', async () => {
    const [command = ''] = blocksOf(projectFile(`${folder}/README.md`)).map(({ text }) => text)
    expect(command).to.equal('npm run build && node examples/custom-store/prove.js\n')
    const proof = await proved(`${folder}/prove.js`, projectRoot)
    expect(proof).to.deep.equal({ code: 0, passed: 87, failed: [] })
  })

  it('works as it is in a project that has the package, and compiles there', async () => {
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

  for (const [at, { text, replacement, broken }] of faults.entries()) {
    it(`is found out without what keeps a promise: ${broken}`, async () => {
      expect(store).to.include(text)
      project.write(`fault-${at}/journal-store.js`, store.replaceAll(text, replacement))
      const program = project.write(`fault-${at}/prove.js`, prove)
      const { code, failed } = await proved(program, project.folder)
      expect(code).to.equal(1)
      expect(failed).to.include(broken)
    })
  }

  it('has whatever it answered after the process was killed, and half a line of what it did not', async () => {
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

  it('lets no second process have the file', async () => {
    project.write(
      'twice.js',
      `import { openJournalStore } from './journal-store.js'
      openJournalStore('twice.jsonl')
      try { openJournalStore('twice.jsonl') } catch (error) { console.log(error.name) }`,
    )
    expect(await project.run('twice.js')).to.equal('Unsuitable\n')
  })
})
