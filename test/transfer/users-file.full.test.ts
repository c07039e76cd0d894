import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { digestOf, lineOf } from '../../src/adapters/transfer/records.ts'
import { sumOf } from '../../src/application/transfer/import-progress.ts'
import { noFactors } from '../../src/domain/factors.ts'
import { eventually } from '../support/eventually.ts'
import { goodPassword, logIn, register } from '../support/http/client.ts'
import { rounds } from '../support/mocha/long.ts'
import { portcullis } from '../support/process/command-line.ts'
import { goodSecret } from '../support/services/settings.ts'
import { executable, scratchFolder, spawnService } from '../support/services/spawned-service.ts'

const env = { PORTCULLIS_SECRET: goodSecret }
const users = (cwd: string, ...args: string[]) => portcullis(['users', ...args], { cwd, env })
const linesOf = (folder: string, file: string) => readFileSync(join(folder, file), 'utf8').trimEnd().split('\n')

describe('portcullis users', () => {
  it('moves the users of a service to another one, where they log in', async () => {
    const [from, to] = [scratchFolder(), scratchFolder()]
    const service = await spawnService({ ...env, PORTCULLIS_HANDLERS__CONSOLE: 'true' }, from)
    const { id } = await register(service.url, 'ada@example.com')
    const exported = await users(from, 'export', join(to, 'users.jsonl'), '--with-hashes')
    expect([exported.code, exported.err]).to.deep.equal([0, ''])
    expect(exported.out).to.match(/^1 records in .*, digest [0-9a-f]{64}\n$/)
    expect(await service.end('SIGTERM')).to.equal(0)

    const imported = await users(to, 'import', 'users.jsonl', '--yes')
    expect(imported.code).to.equal(0)
    expect(imported.out).to.contain('stored: 1 new users')
    const other = await spawnService({ ...env, PORTCULLIS_HANDLERS__CONSOLE: 'true' }, to)
    await logIn(other.url, 'ada@example.com', goodPassword)
    expect(other.events.filter(({ event }) => event === 'on_after_register')).to.deep.equal([])
    const shown = await portcullis(['user', 'show', 'ada@example.com'], { cwd: to, env })
    expect(shown.out).to.contain(`id: ${id}\n`)
    expect(await other.end('SIGTERM')).to.equal(0)
  })

  it('asks before an import, and writes nothing without an answer', async () => {
    const folder = scratchFolder()
    writeFileSync(join(folder, 'users.jsonl'), fileOf(3))
    const first = await portcullis(['users', 'import', 'users.jsonl', '--dry-run'], { cwd: folder })
    expect([first.code, first.out], first.err).to.satisfy(
      ([code, out]: [number, string]) => code === 0 && out.includes('would store: 3 new users'),
    )
    expect(existsSync(join(folder, 'data')), 'a dry run must make no store and no secret').to.equal(false)
    const refused = await users(folder, 'import', 'users.jsonl')
    expect(refused.code).to.equal(2)
    expect(refused.out).to.contain('would store: 3 new users')
    expect(refused.err).to.contain('give --yes')
    const dry = await users(folder, 'import', 'users.jsonl', '--dry-run', '--json')
    expect(dry.code).to.equal(0)
    expect(JSON.parse(dry.out)).to.include({ isDryRun: true, stored: 3, refused: 0 })
    expect((await portcullis(['user', 'list'], { cwd: folder, env })).err).to.contain('There are no such users')
  })

  it('refuses a file that is missing, of another kind or of a later release, or that exists', async () => {
    const folder = scratchFolder()
    writeFileSync(join(folder, 'other'), '{"id":1}\n')
    writeFileSync(join(folder, 'later'), fileOf(1).replace('"version":1', '"version":2'))
    for (const [file, words] of [
      ['none', 'cannot be read (ENOENT)'],
      ['other', 'is no file of `users export`'],
      ['later', 'of a later release'],
    ] as const) {
      const { code, err } = await users(folder, 'import', file, '--yes')
      expect([code, err]).to.deep.equal([2, `portcullis: ${file} ${err.slice(`portcullis: ${file} `.length)}`])
      expect(err).to.contain(words)
    }
    const exported = await users(folder, 'export', 'other')
    expect([exported.code, exported.err]).to.deep.equal([
      2,
      'portcullis: other exists already: give the name of a new file\n',
    ])
    expect(linesOf(folder, 'other')).to.deep.equal(['{"id":1}'])
  })

  it('reports lines that it cannot read, and a file that ends early', async () => {
    const folder = scratchFolder()
    const [header, ...records] = fileOf(3).split('\n')
    const noTime = records[2]?.replace(/"createdAt":"....-..-/, '"createdAt":"2023-13-')
    const lines = [header, records[0], '{"type":"user","id":"x"}', 'no JSON', '{"type":"passkey"}', noTime, records[1]]
    writeFileSync(join(folder, 'users.jsonl'), lines.join('\n'))
    const { code, out, err } = await users(folder, 'import', 'users.jsonl', '--yes')
    expect(code).to.equal(1)
    expect(out).to.contain('stored: 2 new users')
    expect(out).to.contain('not stored: 4 records')
    expect(err).to.contain('ends early')
    const report = linesOf(folder, 'users.jsonl.report.jsonl').map((line) => JSON.parse(line))
    expect(report.filter(({ type }) => type === 'problem')).to.have.length(4)
  })

  it('begins again for another store, although the report tells of an import that did not end', async () => {
    const folder = scratchFolder()
    writeFileSync(join(folder, 'users.jsonl'), fileOf(254))
    expect((await users(folder, 'import', 'users.jsonl', '--yes')).code).to.equal(0)
    const report = join(folder, 'users.jsonl.report.jsonl')
    const cut = linesOf(folder, 'users.jsonl.report.jsonl').filter((line) => !line.startsWith('{"type":"end"'))
    writeFileSync(report, `${cut.slice(0, -1).join('\n')}\n`)
    expect((await users(folder, 'import', 'users.jsonl', '--dry-run')).code).to.equal(0)
    const resumed = await users(folder, 'import', 'users.jsonl', '--yes', '--json')
    expect(resumed.err).to.contain('Goes on behind 250 records')
    expect(JSON.parse(resumed.out)).to.include({ stored: 250, unchanged: 4 })
    expect((await stat(report)).mode & 0o777).to.equal(0o600)

    writeFileSync(report, `${cut.slice(0, -1).join('\n')}\n`)
    rmSync(join(folder, 'data'), { recursive: true })
    const again = await users(folder, 'import', 'users.jsonl', '--yes', '--json')
    expect(again.err).to.not.contain('Goes on')
    expect(JSON.parse(again.out)).to.include({ stored: 254, unchanged: 0 })
  })

  it('stores after kills what it would have stored without them', async () => {
    const folder = scratchFolder()
    const count = rounds(4000, 20_000)
    writeFileSync(join(folder, 'users.jsonl'), fileOf(count))
    let seen = 0
    for (let kill = 0; kill < rounds(3, 10); kill++) {
      const child = spawn(process.execPath, [executable, 'users', 'import', 'users.jsonl', '--yes'], {
        cwd: folder,
        env: { PATH: process.env.PATH, ...env },
      })
      await eventually('more records to be imported', () => progressIn(folder) > seen || child.exitCode !== null)
      expect(child.exitCode, 'it must not have ended before the kill').to.equal(null)
      child.kill('SIGKILL')
      await once(child, 'exit')
      seen = progressIn(folder)
    }
    const { code, err } = await users(folder, 'import', 'users.jsonl', '--yes')
    expect(code).to.equal(0)
    expect(err).to.contain('of an import that did not end')
    expect((await users(folder, 'export', 'again.jsonl', '--with-hashes')).code).to.equal(0)
    const sorted = (file: string) => linesOf(folder, file).slice(1).sort()
    expect(sorted('again.jsonl')).to.deep.equal(sorted('users.jsonl'))
  })
})

function progressIn(folder: string): number {
  try {
    return linesOf(folder, 'users.jsonl.report.jsonl').filter((line) => line.startsWith('{"type":"progress"')).length
  } catch {
    return 0 // there is no report yet
  }
}

/** A file of new users, as `users export --with-hashes` writes it. */
function fileOf(count: number): string {
  const lines = Array.from({ length: count }, (_, at) =>
    lineOf({
      type: 'user',
      id: randomUUID(),
      email: `user${at}@example.com`,
      passwordHash: `$2b$04$${'a'.repeat(53)}`,
      isActive: true,
      isSuperuser: false,
      isVerified: at % 2 === 0,
      isOwnerProved: at % 2 === 0,
      createdAt: new Date(1_700_000_000_000 + at),
      lastLoginAt: at % 3 === 0 ? new Date(1_710_000_000_000 + at) : null,
      factors: noFactors,
      fields: {},
      accounts: [],
      sessions: [],
      credentials: { generation: 0, keptSid: null, endedUntil: null },
      former: null,
    }),
  )
  const digest = lines.reduce((sum, line) => sumOf(sum, digestOf(line)), '0')
  const header = lineOf({ type: 'portcullis', version: 1, sealedBy: '', hasHashes: true })
  return `${[header, ...lines, lineOf({ type: 'end', records: count, digest })].join('\n')}\n`
}
