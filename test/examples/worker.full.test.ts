import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect } from 'chai'
import { eventually } from '../support/eventually.ts'
import { figure } from '../support/http/figures.ts'
import { isLong, rounds } from '../support/mocha/long.ts'
import { environmentOf } from '../support/process/commands.ts'
import { projectRoot } from '../support/project/readme-blocks.ts'
import { quickest } from '../support/scenes/quickest.ts'
import { scratchFolder } from '../support/services/spawned-service.ts'

const script = join(projectRoot, 'examples/worker/import-users.js')
const lines = rounds(300, 10_000)
const kills = rounds(2, 8)

const password = (line: number): string => `tide lamp quartz ${line}`

/** Four of a hundred lines are refused. The first line of the file is its header. */
function lineOf(line: number): { text: string; reason: string | null } {
  const good = `person-${line}@example.com`
  switch (line % 100) {
    case 20:
      return { text: `no address,${password(line)},x`, reason: 'An email address must have an @-sign.' }
    case 40:
      return { text: `${good},short,x`, reason: 'Password should be at least 8 characters' }
    case 60: // the same person again, by another spelling and with the very same password
      return {
        text: ` Person-${line - 1}@EXAMPLE.com,${password(line - 1)},x`,
        reason: 'The address has an account already.',
      }
    case 80:
      return { text: `=1+1,${password(line)},x`, reason: 'An email address must have an @-sign.' }
    default:
      return { text: `${good},${password(line)},"a name, with a comma"`, reason: null }
  }
}

describe('the example of a worker', function () {
  if (isLong) this.timeout(600_000)

  it('registers each line of a file once, although its process is killed', async () => {
    const folder = scratchFolder()
    const file = join(folder, 'people.csv')
    const all = Array.from({ length: lines }, (_, at) => ({ line: at + 2, ...lineOf(at + 2) }))
    writeFileSync(file, `\ufeffemail,password,name\n${all.map(({ text }) => `${text}\n`).join('')}`)
    const progress = (): { records: number; registered: number } | null => {
      try {
        return JSON.parse(readFileSync(`${file}.progress.json`, 'utf8'))
      } catch {
        return null
      }
    }

    const began = performance.now()
    for (let kill = 0; kill < kills; kill += 1) {
      const killed = start(folder, file)
      const wanted = (lines / (kills + 1)) * (kill + 0.7)
      await eventually('some to be done', () => (progress()?.records ?? 0) > wanted)
      // Within a batch: more users are registered than the progress file says.
      await eventually('more', () => usersIn(folder).length > (progress()?.registered ?? Number.POSITIVE_INFINITY))
      killed.child.kill('SIGKILL')
      await once(killed.child, 'close')
      expect(progress()?.records).to.be.below(lines)
    }
    const { child, output } = start(folder, file)
    const [code] = await once(child, 'close')
    expect(code, output()).to.equal(0)
    figure('an import', { lines, kills, seconds: (performance.now() - began) / 1000 })

    const refused = all.filter(({ reason }) => reason !== null)
    expect(output()).to.include(`100 %  ${lines - refused.length} registered, ${refused.length} refused\n`)
    const [head, ...rows] = readFileSync(`${file}.refused.csv`, 'utf8').trimEnd().split('\n')
    expect(head).to.equal('line,email,reason')
    const reasons = rows.map((row) => /^(\d+),[^,]*,(.*)$/.exec(row)?.slice(1))
    expect(reasons).to.deep.equal(refused.map(({ line, reason }) => [`${line}`, reason]))
    expect(rows.find((row) => row.includes('=1+1'))).to.include("'=1+1")
    expect(statSync(`${file}.refused.csv`).mode & 0o777).to.equal(0o600)

    const registered = all.flatMap(({ line, reason }) => (reason === null ? [`person-${line}@example.com`] : []))
    expect(usersIn(folder)).to.deep.equal(registered.sort())

    const again = start(folder, file)
    await once(again.child, 'close')
    expect(usersIn(folder)).to.have.lengthOf(registered.length)
    expect(readFileSync(`${file}.refused.csv`, 'utf8').trimEnd().split('\n')).to.have.lengthOf(rows.length + 1)
  })

  it('refuses a file that has changed, lacks a column or is missing', async () => {
    const folder = scratchFolder()
    const file = join(folder, 'people.csv')
    const end = async (): Promise<{ code: unknown; said: string }> => {
      const { child, output } = start(folder, file)
      const [code] = await once(child, 'close')
      return { code, said: output() }
    }
    expect(await end()).to.deep.equal({ code: 1, said: `there is no file ${file}\n` })
    writeFileSync(file, 'mail,password\nada@example.com,tide lamp quartz\n')
    expect(await end()).to.have.property('code', 1)
    writeFileSync(file, 'email,password\nada@example.com,tide lamp quartz\n')
    const { code, said } = await end()
    expect(code).to.equal(1)
    expect(said).to.include('has changed since the import began')
  })
})

function start(folder: string, file: string): { child: ChildProcess; output: () => string } {
  const settings = { PORTCULLIS_DATA_FOLDER: join(folder, 'data'), PORTCULLIS_LOGS__LEVEL: 'warn', ...quickest }
  const env = environmentOf(settings)
  const child = spawn(process.execPath, [script, file], { cwd: folder, env, stdio: ['ignore', 'ignore', 'pipe'] })
  let text = ''
  child.stderr.setEncoding('utf8').on('data', (more: string) => {
    text += more
  })
  return { child, output: () => text }
}

function usersIn(folder: string): string[] {
  const db = new Database(join(folder, 'data', 'portcullis.sqlite'), { readonly: true })
  try {
    return db.prepare<[], string>("SELECT document ->> 'email' FROM users").pluck().all().sort()
  } finally {
    db.close()
  }
}
