import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { type FormerDatabase, formerMongo, formerPostgres, formerSqlite } from '../compat/dumps/load.ts'
import { call, logIn } from '../support/http/client.ts'
import { portcullis } from '../support/process/command-line.ts'
import { skipIfMissing } from '../support/servers/obstacles.ts'
import { postgresObstacle } from '../support/servers/postgres-server.ts'
import { goodSecret } from '../support/services/settings.ts'
import { scratchFolder, spawnService } from '../support/services/spawned-service.ts'
import { mongoObstacle } from '../support/stores/mongo.ts'

const env = { PORTCULLIS_SECRET: goodSecret }
const tenYears = ['--lifetime', String(10 * 365 * 86_400)] // the logins of the dump never end
const today = new Date().toISOString().slice(0, 10)

/** A folder with the settings for the people of the dumps. */
function aFolder(ids: string): string {
  const folder = scratchFolder()
  const field = (type: string, more = {}) => ({ type, ...more })
  const fields = {
    first_name: field('string'),
    birthday: field('string', { format: 'date' }),
    role: field('string', { enum: ['reader', 'editor'] }),
    newsletter: field('boolean'),
    age: field('integer'),
  }
  const settings = { ids, users: { fields }, compat: { preset: 'fastapi-users', until: today } }
  writeFileSync(join(folder, 'portcullis.config.json'), JSON.stringify(settings))
  return folder
}

const importTo = (cwd: string, ...args: string[]) => portcullis(['import', 'fastapi-users', ...args], { cwd, env })

describe('portcullis import fastapi-users', () => {
  let former: FormerDatabase
  before(async () => {
    former = await formerSqlite()
  })

  it('lets everybody of an app on SQLite go on: logins, passwords, ids, own fields and links', async () => {
    await goesOn(former, 'integer')
  })

  it('lets everybody of an app on MongoDB go on', async function () {
    skipIfMissing(this, await mongoObstacle())
    const mongo = await formerMongo()
    await goesOn(mongo, 'objectid')
    await mongo.close()
  })

  async function goesOn({ url, people }: FormerDatabase, ids: string): Promise<void> {
    const folder = aFolder(ids)
    const imported = await importTo(folder, '--from', url, ...tenYears, '--yes', '--json')
    const links = people.flatMap((person) => person.links)
    const logins = people.filter(({ tokens }) => tokens.cookie)
    expect(imported.code, imported.err).to.equal(0)
    expect(JSON.parse(imported.out)).to.deep.include({
      isDryRun: false,
      stored: people.length,
      refused: 0,
      links: links.length,
      sessions: logins.length,
    })
    const service = await spawnService(env, folder)
    for (const { id, email, own, tokens, is_verified, is_superuser } of logins) {
      const headers = { Cookie: `fastapiusersauth=${tokens.cookie}` }
      const me = await call(service.url, 'GET', '/users/me', { headers })
      expect(me.body).to.deep.equal({
        id: ids === 'integer' ? Number(id) : id,
        email,
        is_active: true,
        is_superuser,
        is_verified,
        ...own,
      })
    }
    const [, , person] = people
    await logIn(service.url, person?.email ?? '', person?.password ?? '')
    expect(await service.end('SIGTERM')).to.equal(0)

    const again = await importTo(folder, '--from', url, ...tenYears, '--yes', '--json')
    expect(JSON.parse(again.out)).to.include({ stored: 0, replaced: 0, unchanged: people.length, sessions: 0 })
  }

  it('makes a dry run, and writes nothing without a terminal and --yes', async () => {
    const folder = aFolder('integer')
    const { code, out, err } = await importTo(folder, '--from', former.url, ...tenYears)
    expect(code).to.equal(2)
    expect(out).to.contain(`would store: ${former.people.length} new users`)
    expect(out).to.match(/the last session of the database ends by \d{4}-\d\d-\d\dT/)
    expect(err).to.contain('give --yes')
    expect((await portcullis(['user', 'list'], { cwd: folder, env })).err).to.contain('There are no such users')
  })

  it('refuses arguments that do not fit, and names the candidates', async () => {
    const folder = aFolder('integer')
    const from = ['--from', former.url]
    for (const [args, words] of [
      [from, 'give --lifetime, the lifetime_seconds of DatabaseStrategy'],
      [
        [...from, '--column', 'mail=email'],
        '--column: must be ours=theirs, where ours is one of users.id, users.email',
      ],
      [[...from, '--field', 'name=first_name'], 'which has first_name, birthday, role, newsletter, age'],
      [['--from', 'mysql://u:a-secret@h/x'], '--from must be an address that begins with'],
    ] as const) {
      const { code, err } = await importTo(folder, ...args)
      expect([code, err.includes(words)], err).to.deep.equal([2, true])
      expect(err).to.not.contain('a-secret')
    }
  })

  it('shows the password of the database nowhere', async function () {
    skipIfMissing(this, postgresObstacle())
    const postgres = await formerPostgres()
    const folder = aFolder('uuid')
    const from = postgres.url.replace('postgres@', 'postgres:a-secret@')
    const args = ['--from', from, ...tenYears, '--column', 'created_at=birthday', '--field', 'role=role', '--dry-run']
    const { code, out, err } = await importTo(folder, ...args, '--distrust-verified')
    expect(code, err).to.equal(0)
    expect(out).to.contain(`would store: ${postgres.people.length} new users`)
    expect(out).to.contain(`${postgres.people.length} users will lose their password`)
    const report = readFileSync(join(folder, 'fastapi-users.report.jsonl'), 'utf8')
    expect(report).to.contain('fastapi-users of postgresql+asyncpg://127.0.0.1')
    expect(out + err + report).to.not.contain('a-secret')
    await postgres.close()
  })
})
