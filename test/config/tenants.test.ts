import { execFileSync } from 'node:child_process'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { renderSettings } from '../../src/config/settings/describe.ts'
import { type Fault, renderFaults } from '../../src/config/settings/schema/fault.ts'
import type { Settings } from '../../src/config/settings/schema/schema.ts'
import type { LoadedTenants } from '../../src/config/settings/tenants.ts'
import { goodSecret, SettingsFolder } from '../support/settings.ts'

const mongo = { kind: 'mongo', url: 'mongodb://keeper:hunter2hunter2@db.internal/accounts' }
const redis = { kind: 'redis', url: 'redis://:letmeinletmein@cache.internal' }

describe('settings of tenants', () => {
  const folder = new SettingsFolder()
  beforeEach(() => folder.open())
  afterEach(() => folder.remove())

  type Env = Readonly<Record<string, string>>

  async function load(file: object, env: Env = {}): Promise<LoadedTenants> {
    const { tenants } = await folder.load(file, env)
    return tenants
  }

  const list = (tenants: object, common: object = {}, by = 'header') => ({ ...common, tenants: { by, list: tenants } })

  function settingsOf({ enabled, disabled }: LoadedTenants, id: string): Settings {
    const faults = disabled.get(id)
    if (faults !== undefined) throw new Error(renderFaults(faults))
    const found = enabled.get(id)
    if (found === undefined) throw new Error(`no tenant ${id}`)
    return found.settings
  }

  const pathsOf = (faults: readonly Fault[] | undefined): string[] => (faults ?? []).map(({ path }) => path)

  async function inFolder(files: Readonly<Record<string, object | string>>): Promise<void> {
    await mkdir(join(folder.path, 'tenants'))
    for (const [name, content] of Object.entries(files)) {
      const text = typeof content === 'string' ? content : JSON.stringify(content)
      await writeFile(join(folder.path, 'tenants', name), text)
    }
  }

  it('are those of the tenant `default` alone where no tenants are set', async () => {
    const { enabled, disabled } = (await folder.load({})).tenants
    expect([...enabled.keys(), ...disabled.keys()]).to.deep.equal(['default'])
  })

  it('go without the handlers that they inherit where they say so by null', async () => {
    const module = await folder.write('handlers.mjs', '')
    const tenants = await load(
      list({ acme: { handlers: { module: null } }, bolt: {} }, { handlers: { module: 'handlers.mjs' } }),
    )
    expect(settingsOf(tenants, 'acme').handlers.module).to.equal(null)
    expect(settingsOf(tenants, 'bolt').handlers.module).to.equal(module)
    expect(tenants.enabled.get('acme')?.sources.get('handlers.module')).to.equal('file')
    const { settings } = await folder.load({ handlers: { module: null } })
    expect(settings.handlers.module).to.equal(null)
  })

  describe('come from', () => {
    it('the settings file', async () => {
      const tenants = await load(
        list({ acme: { passwords: { minLength: 12 } }, bolt: {} }, { passwords: { minLength: 10 } }),
      )
      expect([...tenants.enabled.keys()]).to.deep.equal(['acme', 'bolt'])
      expect(settingsOf(tenants, 'acme').passwords.minLength).to.equal(12)
      expect(settingsOf(tenants, 'bolt').passwords.minLength).to.equal(10)
      expect(tenants.disabled.size).to.equal(0)
    })

    it('a folder, beside the settings file or in place of it', async () => {
      await inFolder({
        'acme.json': { passwords: { minLength: 12 } },
        'readme.md': 'no tenant',
        '._acme.json': 'nor this',
      })
      const alone = await load({ tenants: { by: 'header', folder: 'tenants' } })
      expect([...alone.enabled.keys()]).to.deep.equal(['acme'])
      const both = await load({ tenants: { by: 'header', folder: 'tenants', list: { bolt: {} } } })
      expect([...both.enabled.keys()].sort()).to.deep.equal(['acme', 'bolt'])
      expect(settingsOf(both, 'acme').passwords.minLength).to.equal(12)
    })

    it('the environment, for tenants of the file, of the folder, and new ones', async () => {
      await inFolder({ 'bolt.json': { backends: { App: {} } } })
      await folder.write('secret', `${goodSecret}\n`)
      const file = { tenants: { by: 'header', folder: 'tenants', list: { acme: { passwords: { minLength: 12 } } } } }
      const tenants = await load(file, {
        PORTCULLIS_PASSWORDS__MIN_LENGTH: '10',
        PORTCULLIS_TENANTS__LIST__ACME__SECRET_FILE: 'secret',
        PORTCULLIS_TENANTS__LIST__ACME__PASSWORDS__MIN_LENGTH: '14',
        PORTCULLIS_TENANTS__LIST__BOLT__BACKENDS__COOKIE__ENABLED: 'no',
        PORTCULLIS_TENANTS__LIST__COVE__TOKENS__RESET_LIFETIME_SECONDS: '60',
      })
      expect(settingsOf(tenants, 'acme').secret).to.equal(goodSecret)
      expect(settingsOf(tenants, 'acme').passwords.minLength).to.equal(14)
      expect(settingsOf(tenants, 'cove').passwords.minLength).to.equal(10)
      expect(settingsOf(tenants, 'cove').tokens.resetLifetimeSeconds).to.equal(60)
      expect(pathsOf(tenants.disabled.get('bolt'))).to.deep.equal(['tenants.list.bolt.backends.App'])
    })

    it('the common settings, member by member; a group of another kind replaces the whole', async () => {
      const jwt = { transport: { kind: 'bearer' }, strategy: { kind: 'jwt', lifetimeSeconds: 60 } }
      const common = { backends: { app: jwt }, tokens: { resetLifetimeSeconds: 100, verifyLifetimeSeconds: 200 } }
      const acme = { backends: { app: { strategy: { kind: 'stored' } } }, tokens: { resetLifetimeSeconds: 300 } }
      const tenants = await load(list({ acme, bolt: {} }, common))
      expect(settingsOf(tenants, 'acme').tokens).to.deep.equal({
        resetLifetimeSeconds: 300,
        verifyLifetimeSeconds: 200,
      })
      expect(settingsOf(tenants, 'acme').backends.app?.strategy).to.deep.equal({
        kind: 'stored',
        lifetimeSeconds: 2_592_000,
        idleSeconds: 86_400,
      })
      expect(settingsOf(tenants, 'bolt').backends.app?.strategy).to.include({ kind: 'jwt', lifetimeSeconds: 60 })
    })
  })

  describe('give each tenant a place of its own', () => {
    it('for what it inherits: a database, a prefix, a folder', async () => {
      const stores = { users: mongo, sessions: redis, tokens: redis }
      const tenants = await load(list({ acme: {}, 'acme-2': {} }, { secret: goodSecret, stores }))
      const url = (id: string) => `mongodb://keeper:hunter2hunter2@db.internal/accounts_${id}?authSource=accounts`
      for (const id of ['acme', 'acme-2']) {
        const own = settingsOf(tenants, id)
        expect(own.stores).to.deep.equal({
          users: { kind: 'mongo', url: url(id) },
          sessions: { ...redis, prefix: `portcullis:${id}:` },
          tokens: { ...redis, prefix: `portcullis:${id}:` },
        })
        expect(own.dataFolder).to.equal(join(folder.path, 'data', 'tenants', id))
      }
    })

    it('behind the prefix that all have, if there is one', async () => {
      const stores = { users: mongo, sessions: { ...redis, prefix: 'eu:' } }
      const tenants = await load(list({ acme: {} }, { secret: goodSecret, stores }))
      expect(settingsOf(tenants, 'acme').stores.sessions.prefix).to.equal('eu:acme:')
    })

    it('and leaves what it names itself as it is', async () => {
      const own = { users: { kind: 'mongo', url: 'mongodb://other.internal/acme' }, sessions: { prefix: 'mine:' } }
      const common = { secret: goodSecret, stores: { users: mongo, sessions: redis, tokens: redis } }
      const tenants = await load(list({ acme: { stores: own, dataFolder: 'elsewhere' } }, common))
      const { stores, dataFolder } = settingsOf(tenants, 'acme')
      expect(stores).to.deep.equal({
        users: own.users,
        sessions: { ...redis, prefix: 'mine:' },
        tokens: { ...redis, prefix: 'portcullis:acme:' },
      })
      expect(dataFolder).to.equal(join(folder.path, 'elsewhere'))
    })

    it('another kind without what the common one had', async () => {
      const common = { secret: goodSecret, stores: { users: mongo, sessions: redis } }
      const tenants = await load(list({ acme: { stores: { users: { kind: 'sqlite' } } } }, common))
      expect(settingsOf(tenants, 'acme').stores).to.deep.equal({
        users: { kind: 'sqlite' },
        sessions: { ...redis, prefix: 'portcullis:acme:' },
        tokens: { kind: 'sqlite' },
      })
    })

    it('of a deployment without tenants, for the tenant `default`', async () => {
      const without = await folder.load({ secret: goodSecret, stores: { users: mongo, sessions: redis } })
      const common = { secret: goodSecret, stores: { users: mongo, sessions: redis } }
      const { tenants: _, ...own } = settingsOf(await load(list({ default: {}, acme: {} }, common)), 'default')
      const { tenants: __, ...expected } = without.settings
      expect(own).to.deep.equal(expected)
    })

    it('in the cookies of a browser', async () => {
      const cookie = { transport: { kind: 'cookie', name: '__Host-app' }, strategy: { kind: 'stored' } }
      const tenants = await load(list({ acme: {}, default: {} }, { backends: { app: cookie } }))
      const names = (id: string) =>
        Object.values(settingsOf(tenants, id).backends).flatMap(({ transport }) =>
          transport.kind === 'cookie' ? [transport.name] : [],
        )
      expect(names('acme')).to.deep.equal(['__Host-session-acme', '__Host-app-acme'])
      expect(names('default')).to.deep.equal(['__Host-session', '__Host-app'])
    })
  })

  describe('by host', () => {
    const common = { http: { publicUrl: 'https://accounts.example.org:8443' } }

    it('need the hosts of each, and give each its own public URL', async () => {
      const acme = { hosts: ['acme.example.org', 'acme.example.com'] }
      const bolt = { hosts: ['bolt.example.org'], http: { publicUrl: 'https://id.bolt.example.org' } }
      const tenants = await load(list({ acme, bolt, cove: {} }, common, 'host'))
      expect(settingsOf(tenants, 'acme').http.publicUrl).to.equal('https://acme.example.org:8443')
      expect(settingsOf(tenants, 'bolt').http.publicUrl).to.equal('https://id.bolt.example.org')
      expect(pathsOf(tenants.disabled.get('cove'))).to.deep.equal(['tenants.list.cove.hosts'])
    })

    it('have no development defaults at a public host, also without a public URL', async () => {
      const tenants = await load(
        list(
          {
            acme: { hosts: ['acme.example.org'] },
            bolt: { hosts: ['bolt.localhost'] },
            cove: { hosts: ['cove.example.org'], handlers: { console: true } },
          },
          {},
          'host',
        ),
      )
      const defaultsOf = (id: string) => {
        const { handlers, try: page } = settingsOf(tenants, id)
        return [handlers.console, page.enabled]
      }
      expect(defaultsOf('acme')).to.deep.equal([false, false])
      expect(defaultsOf('bolt')).to.deep.equal([true, true])
      expect(defaultsOf('cove')).to.deep.equal([true, false])
    })

    it('judge its pages by its own address and not by the common one', async () => {
      const provider = (page: string) => ({
        kind: 'github',
        clientId: 'an-id',
        clientSecret: 'a-secret',
        redirectUrl: page,
      })
      const at = (host: string) => ({ providers: { github: provider(`https://${host}:8443/welcome`) } })
      const tenants = await load(
        list(
          {
            acme: { hosts: ['acme.example.org'], ...at('acme.example.org') },
            bolt: { hosts: ['bolt.example.org'], ...at('accounts.example.org') },
          },
          common,
          'host',
        ),
      )
      expect([...tenants.enabled.keys()]).to.deep.equal(['acme'])
      expect(pathsOf(tenants.disabled.get('bolt'))).to.deep.equal(['tenants.list.bolt.providers.github.redirectUrl'])
    })

    for (const hosts of ['acme.example.org', ['Acme.example.org'], ['acme.example.org:80'], [''], [7], [null]]) {
      it(`refuse ${JSON.stringify(hosts)} as its hosts`, async () => {
        const { disabled } = await load(list({ acme: { hosts } }, common, 'host'))
        expect(pathsOf(disabled.get('acme'))).to.include('tenants.list.acme.hosts')
      })
    }

    it('take hosts from the environment', async () => {
      const tenants = await load(list({ acme: {} }, common, 'host'), {
        PORTCULLIS_TENANTS__LIST__ACME__HOSTS: 'acme.example.org, acme.example.com',
      })
      expect(tenants.enabled.get('acme')?.hosts).to.deep.equal(['acme.example.org', 'acme.example.com'])
    })
  })

  describe('that are wrong', () => {
    it('disable their tenant alone, and all of them are told with paths and sources', async () => {
      await inFolder({
        'bolt.json': { tokens: { resetLifetimeSeconds: 0 }, colour: 'blue' },
        'cove.json': '{ "tokens": ',
        'dune.json': [],
      })
      const file = { tenants: { by: 'header', folder: 'tenants', list: { acme: {}, echo: { secret: 'hunter2' } } } }
      const env = {
        PORTCULLIS_TENANTS__LIST__BOLT__PASSWORDS__MIN_LENGTH: 'many',
        PORTCULLIS_TENANTS__LIST__FLOW__HTTP__PORT: '1',
      }
      const { enabled, disabled } = await load(file, env)
      expect([...enabled.keys()]).to.deep.equal(['acme'])
      const told = [...disabled].map(([id, faults]) => [
        id,
        faults.map(({ path, source }) => `${path} (${source})`).sort(),
      ])
      expect(Object.fromEntries(told)).to.deep.equal({
        bolt: [
          'tenants.list.bolt.colour (file bolt.json)',
          'tenants.list.bolt.passwords.minLength (environment PORTCULLIS_TENANTS__LIST__BOLT__PASSWORDS__MIN_LENGTH)',
          'tenants.list.bolt.tokens.resetLifetimeSeconds (file bolt.json)',
        ],
        cove: ['tenants.list.cove (file cove.json)'],
        dune: ['tenants.list.dune (file dune.json)'],
        echo: ['tenants.list.echo.secret (file)'],
        flow: ['tenants.list.flow.http.port (environment PORTCULLIS_TENANTS__LIST__FLOW__HTTP__PORT)'],
      })
      expect(JSON.stringify([...disabled])).not.to.include('hunter2')
    })

    it('because they are the whole service’s to set', async () => {
      const whole = {
        http: { host: '0.0.0.0', port: 80 },
        passwords: { maxWaitSeconds: 1, concurrency: 1 },
        events: { relay: 'off' },
        logs: { level: 'debug' },
        docs: { enabled: false },
        tenants: { by: 'path' },
      }
      const { disabled } = await load(list({ acme: whole }))
      const expected = [
        'events',
        'http.host',
        'http.port',
        'logs',
        'docs',
        'passwords.concurrency',
        'passwords.maxWaitSeconds',
        'tenants',
      ]
      expect([...new Set(pathsOf(disabled.get('acme')))]).to.include.members(
        expected.map((path) => `tenants.list.acme.${path}`),
      )
    })

    for (const id of ['Acme', '-acme', 'acme-', 'a.b', 'a'.repeat(33), '', '__proto__', 'ä']) {
      it(`because ${JSON.stringify(id)} is no name`, async () => {
        const { enabled, disabled } = await load(
          JSON.parse(`{"tenants":{"by":"header","list":{${JSON.stringify(id)}:{}}}}`),
        )
        expect([...enabled.keys()]).to.deep.equal([])
        expect([...disabled.keys()]).to.deep.equal([id])
      })
    }

    it('because the database that it would inherit has a name too long for MongoDB', async () => {
      const name = 'ä'.repeat(27)
      const users = { kind: 'mongo', url: `mongodb://keeper:hunter2hunter2@db.internal/${encodeURIComponent(name)}` }
      const own = { secret: goodSecret, stores: { users: { kind: 'mongo', url: 'mongodb://db.internal/own' } } }
      const tenants = { 'fits-in2': {}, 'fits-not': {}, 'fits-no-longer': {}, 'has-one-of-its-own': own }
      const { enabled, disabled } = await load(list(tenants, { secret: goodSecret, stores: { users } }))
      expect([...enabled.keys()]).to.deep.equal(['fits-in2', 'fits-not', 'has-one-of-its-own'])
      const message = 'must name a database of at most 63 bytes, and leads to one whose name has 69'
      const path = 'tenants.list.fits-no-longer.stores.users.url'
      expect(disabled.get('fits-no-longer')).to.deep.equal([{ path, message, source: 'file' }])
    })

    for (const name of ['my.db', 'a%20b', 'a$b', 'a%2Fb', 'a%5Cb', 'a%22b', 'a%00b', '%zz']) {
      it(`because MongoDB has no database of the name ${name}`, async () => {
        const users = { kind: 'mongo', url: `mongodb://db.internal/${name}` }
        const { enabled, disabled } = await load(
          list({ acme: { secret: goodSecret, stores: { users } }, bolt: {} }, { secret: goodSecret }),
        )
        expect([...enabled.keys()]).to.deep.equal(['bolt'])
        const [fault] = disabled.get('acme') ?? []
        expect(fault?.path).to.equal('tenants.list.acme.stores.users.url')
        expect(fault?.message).to.match(/^must name a database without a space or any of /)
      })
    }

    it('because its file is a pipe, which might never end', async () => {
      await inFolder({ 'bolt.json': {} })
      execFileSync('mkfifo', [join(folder.path, 'tenants', 'acme.json')])
      const { enabled, disabled } = await load({ tenants: { by: 'header', folder: 'tenants' } })
      expect([...enabled.keys()]).to.deep.equal(['bolt'])
      expect(renderFaults(disabled.get('acme') ?? [])).to.include('is no regular file')
    })

    it('because a tenant is in the file and in the folder', async () => {
      await inFolder({ 'acme.json': {} })
      const { disabled } = await load({ tenants: { by: 'header', folder: 'tenants', list: { acme: {}, bolt: {} } } })
      expect([...disabled.keys()]).to.deep.equal(['acme'])
    })

    it('because two name the same records or the same host: both, and nobody else', async () => {
      const common = { secret: goodSecret, stores: { users: mongo, sessions: redis, tokens: redis } }
      const own = (url: string) => ({ stores: { users: { kind: 'mongo', url } } })
      const { enabled, disabled } = await load(
        list(
          {
            acme: own('mongodb://DB.internal/shared'),
            bolt: own('mongodb://someone:else@db.internal:27017/Shared?retryWrites=false'),
            cove: { stores: { sessions: { prefix: 'portcullis:dune:' } } },
            dune: {},
            echo: {},
          },
          common,
        ),
      )
      expect([...enabled.keys()]).to.deep.equal(['echo'])
      const told = [...disabled].map(([id, faults]) => [id, faults.map(({ path, message }) => `${path} ${message}`)])
      expect(Object.fromEntries(told)).to.deep.equal({
        acme: ['tenants.list.acme.stores.users the same records are named by the tenant bolt as well'],
        bolt: ['tenants.list.bolt.stores.users the same records are named by the tenant acme as well'],
        cove: ['tenants.list.cove.stores.sessions the same records are named by the tenant dune as well'],
        dune: ['tenants.list.dune.stores.sessions the same records are named by the tenant cove as well'],
      })
      const byHost = await load(
        list(
          {
            acme: { hosts: ['one.example'] },
            bolt: { hosts: ['two.example', 'one.example'] },
            cove: { hosts: ['three.example'] },
          },
          {},
          'host',
        ),
      )
      expect([...byHost.enabled.keys()]).to.deep.equal(['cove'])
      expect(byHost.disabledHosts.get('two.example')).to.equal('bolt')
    })

    it('and keep their hosts: nobody else is served there meanwhile', async () => {
      const { enabled, disabled, disabledHosts } = await load(
        list({ acme: { hosts: ['one.example'], colour: 'blue' }, bolt: { hosts: ['one.example'] } }, {}, 'host'),
      )
      expect([...enabled.keys()]).to.deep.equal([])
      expect(pathsOf(disabled.get('bolt'))).to.deep.equal(['tenants.list.bolt.hosts'])
      expect(pathsOf(disabled.get('acme'))).to.deep.equal(['tenants.list.acme.colour', 'tenants.list.acme.hosts'])
      expect([...disabledHosts.keys()]).to.deep.equal(['one.example'])
    })

    it('because two share a folder, be it under another name', async () => {
      await mkdir(join(folder.path, 'data', 'tenants', 'acme'), { recursive: true })
      await symlink(join(folder.path, 'data', 'tenants', 'acme'), join(folder.path, 'link'))
      const { enabled, disabled } = await load(list({ acme: {}, bolt: { dataFolder: 'link' }, cove: {} }))
      expect([...enabled.keys()]).to.deep.equal(['cove'])
      expect([...disabled.keys()]).to.deep.equal(['acme', 'bolt'])
    })

    it('because a server of its own needs a secret', async () => {
      const { enabled, disabled } = await load(list({ acme: { stores: { users: mongo } }, bolt: {} }))
      expect([...enabled.keys()]).to.deep.equal(['bolt'])
      expect(pathsOf(disabled.get('acme'))).to.deep.equal(['tenants.list.acme.secret'])
    })

    it('never throw, whatever a tenant holds', async () => {
      const keys = [
        'stores',
        'users',
        'kind',
        'url',
        'backends',
        'cookie',
        'transport',
        'hosts',
        'http',
        'publicUrl',
        'x',
      ]
      const tree = fc.letrec((tie) => ({
        node: fc.oneof(
          { maxDepth: 4 },
          fc.constantFrom('mongo', 'redis', 'sqlite', 'cookie', 7, null, true, ''),
          fc.array(tie('node'), { maxLength: 2 }),
          fc.dictionary(fc.constantFrom(...keys), tie('node'), { maxKeys: 4 }),
        ),
      })).node
      await fc.assert(
        fc.asyncProperty(tree, async (acme) => {
          const { enabled } = await load(list({ acme, bolt: {} }))
          expect(enabled.has('bolt')).to.equal(true)
        }),
        { numRuns: 50 },
      )
    })
  })

  describe('end the start when they are not one tenant’s', () => {
    for (const [what, tenants, path] of [
      ['a list without a word how tenants are told', { list: { acme: {} } }, 'tenants.by'],
      ['a folder without a word how tenants are told', { folder: 'tenants' }, 'tenants.by'],
      ['a folder that is not there', { by: 'header', folder: 'nowhere' }, 'tenants.folder'],
      ['a list that is none', { by: 'header', list: ['acme'] }, 'tenants.list'],
      ['another way to tell them', { by: 'cookie', list: {} }, 'tenants.by'],
      ['a word that is none of theirs', { by: 'header', lists: {} }, 'tenants.lists'],
      ['a header that is none', { by: 'header', header: 'X Tenant' }, 'tenants.header'],
      ['a path that is none', { by: 'path', pathPrefix: 't/' }, 'tenants.pathPrefix'],
    ] as const) {
      it(what, async () => {
        expect(pathsOf(await folder.faults({ tenants }))).to.deep.equal([path])
      })
    }
  })

  it('end the start as well when the environment alone has them, and nothing says how they are told', async () => {
    for (const variable of ['HOSTS', 'SECRET', 'FOO', 'STORES__USERS__KIND']) {
      const env = { [`PORTCULLIS_TENANTS__LIST__ACME__${variable}`]: 'x' }
      expect(pathsOf(await folder.faults(undefined, env)), variable).to.deep.equal(['tenants.by'])
    }
  })

  it('name the variable of a folder that is not there', async () => {
    const env = { PORTCULLIS_TENANTS__BY: 'path', PORTCULLIS_TENANTS__FOLDER: 'nowhere' }
    const faults = await folder.faults(undefined, env)
    expect(faults.map(({ path, source }) => ({ path, source }))).to.deep.equal([
      { path: 'tenants.folder', source: 'environment PORTCULLIS_TENANTS__FOLDER' },
    ])
  })

  it('never show a secret where they are printed', async () => {
    const tenants = list(
      { acme: { secret: `acme ${goodSecret}`, stores: { users: mongo } } },
      { secret: goodSecret, stores: { users: { kind: 'sqlite' }, sessions: redis } },
    )
    const loaded = await folder.load(tenants)
    const found = loaded.tenants.enabled.get('acme')
    if (found === undefined) throw new Error('no tenant acme')
    const printed = [
      renderSettings(loaded),
      renderSettings({ ...loaded, settings: found.settings, sources: found.sources }),
    ]
    for (const text of printed) {
      for (const secret of [goodSecret, 'hunter2', 'letmein', 'db.internal']) expect(text).not.to.include(secret)
    }
    expect(printed[0]).to.match(/tenants\.list +\["acme"\]/)
  })

  it('say which file they stand in', async () => {
    await inFolder({ 'acme.json': { passwords: { minLength: 12 } } })
    const { tenants } = await folder.load({ passwords: { timeCost: 4 }, tenants: { by: 'header', folder: 'tenants' } })
    const sources = tenants.enabled.get('acme')?.sources
    expect(sources?.get('passwords.minLength')).to.equal('file acme.json')
    expect(sources?.get('passwords.timeCost')).to.equal('file')
  })
})
