import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { call, goodPassword, logIn, register } from '../support/client.ts'
import { portcullis } from '../support/command-line.ts'
import { eventually } from '../support/eventually.ts'
import { goodSecret } from '../support/settings.ts'
import { type SpawnedService, scratchFolder, spawnService } from '../support/spawned-service.ts'

const mongo = { kind: 'mongo', url: 'mongodb://keeper:hunter2hunter2@db.internal/acme?tls=true' }

/** A folder with these settings of tenants in it. */
async function folderWith(tenants: object | null): Promise<string> {
  const cwd = scratchFolder()
  await writeFile(join(cwd, 'portcullis.config.json'), JSON.stringify(tenants === null ? {} : { tenants }))
  return cwd
}

describe('tenants on the command line', () => {
  it('are listed with the kinds of their stores, and checked, without a secret', async () => {
    const list = { bolt: {}, 'acme-corp': { secret: goodSecret, stores: { users: mongo } } }
    const cwd = await folderWith({ by: 'header', list })
    const listed = await portcullis(['tenant', 'list'], { cwd })
    expect(listed).to.deep.equal({
      code: 0,
      out: [
        'acme-corp  users: mongo, sessions: mongo, tokens: mongo',
        'bolt       users: sqlite, sessions: sqlite, tokens: sqlite',
        '',
      ].join('\n'),
      err: '',
    })
    expect(await portcullis(['tenant', 'check'], { cwd })).to.deep.equal({
      code: 0,
      out: '2 served, 0 disabled\n',
      err: '',
    })
  })

  it('that are disabled are told with everything that is wrong, and exit code 2', async () => {
    const list = {
      acme: { secret: 'hunter2', colour: 'blue', stores: { users: mongo } },
      bolt: {},
      cove: { dataFolder: 'data/tenants/bolt' },
    }
    const cwd = await folderWith({ by: 'header', list })
    const { code, out, err } = await portcullis(['tenant', 'check'], { cwd })
    expect([code, out]).to.deep.equal([2, '0 served, 3 disabled\n'])
    for (const path of ['acme.secret', 'acme.colour', 'bolt.stores.users', 'cove.stores.users']) {
      expect(err).to.include(`tenants.list.${path}`)
    }
    expect(err).not.to.include('hunter2')
    expect((await portcullis(['tenant', 'list'], { cwd })).out).to.match(/^acme +disabled$/m)
  })

  it('are listed and checked one by one with --tenant', async () => {
    const cwd = await folderWith({ by: 'header', list: { acme: {}, bolt: {}, cove: { colour: 'blue' } } })
    const of = (tenant: string, command: string) => portcullis(['-t', tenant, 'tenant', command], { cwd })
    expect((await of('acme', 'list')).out).to.match(/^acme +users: sqlite[^\n]*\n$/)
    expect((await of('cove', 'list')).out).to.match(/^cove +disabled\n$/)
    expect(await of('acme', 'check')).to.deep.equal({ code: 0, out: '1 served, 0 disabled\n', err: '' })
    expect((await of('cove', 'check')).code).to.equal(2)
    expect((await of('nobody', 'list')).err).to.include('there is no tenant nobody: acme, bolt')
  })

  it('are disabled, too, by a handler module that cannot be loaded', async () => {
    const cwd = await folderWith({ by: 'header', list: { acme: { handlers: { module: 'broken.mjs' } }, bolt: {} } })
    await writeFile(join(cwd, 'broken.mjs'), 'export function on_after_register( {')
    const { code, out, err } = await portcullis(['tenant', 'check'], { cwd })
    expect([code, out]).to.deep.equal([2, '1 served, 1 disabled\n'])
    expect(err).to.include('tenants.list.acme.handlers.module').and.to.include('SyntaxError')
  })

  it('show their hosts among their settings', async () => {
    const cwd = await folderWith({ by: 'host', list: { acme: { hosts: ['acme.example.com', 'acme.example'] } } })
    const { out } = await portcullis(['-t', 'acme', 'config', 'check'], { cwd })
    expect(out).to.match(/^hosts +\["acme\.example\.com","acme\.example"\]$/m)
  })

  it('are none where the settings name none', async () => {
    const cwd = await folderWith(null)
    for (const command of ['list', 'check']) {
      const { code, out, err } = await portcullis(['tenant', command], { cwd })
      expect([code, out]).to.deep.equal([0, ''])
      expect(err).to.equal('There are no tenants: tenants.by is not set\n')
    }
    const { code, err } = await portcullis(['--tenant', 'acme', 'config', 'check'], { cwd })
    expect(code).to.equal(2)
    expect(err).to.include('--tenant: there are no tenants')
  })

  it('are named by --tenant, which each command needs where there is no default', async () => {
    const cwd = await folderWith({
      by: 'header',
      list: { acme: {}, bolt: { passwords: { minLength: 12 } }, cove: { colour: 'blue' } },
    })
    const commands = [
      ['superuser', 'create', '--email', 'root@example.com', '--password-stdin'],
      ['events', 'list'],
      ['events', 'retry', '--all'],
    ]
    for (const command of commands) {
      const input = goodPassword
      const unnamed = await portcullis(command, { cwd, input })
      expect(unnamed.code, command.join(' ')).to.equal(2)
      expect(unnamed.err).to.include('--tenant: name a tenant: acme, bolt')
      const unknown = await portcullis(['--tenant', 'nobody', ...command], { cwd, input })
      expect(unknown.code).to.equal(2)
      expect(unknown.err).to.include('there is no tenant nobody: acme, bolt')
      const disabled = await portcullis(['--tenant', 'cove', ...command], { cwd, input })
      expect(disabled.code).to.equal(2)
      expect(disabled.err).to.include('tenants.list.cove.colour')
      const named = await portcullis(['--tenant', 'acme', ...command], { cwd, input })
      expect(named.code, named.err).to.equal(0)
    }
    const checked = await portcullis(['--tenant', 'bolt', 'config', 'check'], { cwd })
    expect(checked.out).to.match(/passwords\.minLength +12 /)
    for (const command of ['serve', 'worker']) {
      const { code, err } = await portcullis(['--tenant', 'nobody', command], { cwd })
      expect(code, command).to.equal(2)
      expect(err).to.include('there is no tenant nobody')
    }
  })
})

describe('SIGHUP', () => {
  let service: SpawnedService
  let cwd: string
  const config = (tenants: object, common: object = {}) =>
    writeFile(join(cwd, 'portcullis.config.json'), JSON.stringify({ ...common, tenants }))
  const at = (tenant: string): string => `${service.url}/t/${tenant}`
  const statusAt = async (tenant: string): Promise<number> => (await call(at(tenant), 'GET', '/users/me')).status

  /** Sends the signal and waits for a line that answers it. */
  async function hangUp(answer: string): Promise<void> {
    const count = () => service.errors.filter((line) => line.includes(answer)).length
    const before = count()
    process.kill(service.pid, 'SIGHUP')
    await eventually(answer, () => count() > before)
  }

  before(async () => {
    cwd = scratchFolder()
    await mkdir(join(cwd, 'tenants'))
    await writeFile(join(cwd, 'tenants', 'acme.json'), '{}')
    await config({ by: 'path', folder: 'tenants', list: { bolt: {} } })
    service = await spawnService({}, cwd)
  })
  after(() => service?.end('SIGTERM'))

  it('makes the service read its tenants again, and sessions of those that stay live on', async () => {
    await register(at('bolt'), 'ada@example.com')
    const bearer = await logIn(at('bolt'), 'ada@example.com')
    expect([await statusAt('acme'), await statusAt('cove')]).to.deep.equal([401, 404])
    await rm(join(cwd, 'tenants', 'acme.json'))
    await writeFile(join(cwd, 'tenants', 'cove.json'), '{}')
    await hangUp('read the tenants again')
    expect([await statusAt('acme'), await statusAt('cove')]).to.deep.equal([404, 401])
    expect((await call(at('bolt'), 'GET', '/users/me', { bearer })).status).to.equal(200)
  })

  it('changes nothing when what it reads is wrong beyond one tenant', async () => {
    await writeFile(join(cwd, 'tenants', 'dune.json'), '{}')
    await config({ by: 'path', folder: 'tenants', list: {} }, { colour: 'blue' })
    await hangUp('the tenants stay as they were')
    expect([await statusAt('bolt'), await statusAt('cove'), await statusAt('dune')]).to.deep.equal([401, 401, 404])
    await config({ by: 'path', folder: 'nowhere', list: {} })
    await hangUp('the tenants stay as they were')
    await config({ by: 'path', folder: 'tenants', list: { bolt: {} } })
    await hangUp('read the tenants again')
    expect([await statusAt('bolt'), await statusAt('dune')]).to.deep.equal([401, 401])
  })

  it('says which settings only a restart takes up', async () => {
    const line = 'settings of the whole have changed'
    expect(service.errors.filter((one) => one.includes(line))).to.deep.equal([])
    const common = { http: { port: 1, allowedOrigins: ['https://a.example'] }, logs: { requests: 'all' } }
    await config({ by: 'path', pathPrefix: '/of', folder: 'tenants', list: { bolt: {}, elm: {} } }, common)
    await hangUp('read the tenants again')
    const lines = service.errors.filter((one) => one.includes(line))
    expect(lines.map((one) => JSON.parse(one).settings.sort())).to.deep.equal([['logs', 'tenants.pathPrefix']])
    expect([await statusAt('bolt'), await statusAt('elm')]).to.deep.equal([401, 401])
  })

  it('leaves the tenants as they were when they are to be told in another way', async () => {
    await config({ by: 'host', folder: 'tenants', list: { bolt: {} } })
    await hangUp('tenants.by has changed: restart to take it up')
    expect([await statusAt('bolt'), await statusAt('elm')]).to.deep.equal([401, 401])
  })
})
