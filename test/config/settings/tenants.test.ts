import { execFileSync } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { renderSettings } from '../../../src/cli/describe-settings.ts'
import { type Fault, renderFaults } from '../../../src/config/settings/schema/fault.ts'
import type { Settings } from '../../../src/config/settings/schema/schema.ts'
import type { LoadedTenants } from '../../../src/config/settings/tenants.ts'
import { goodSecret, settingsFolder } from '../../support/services/settings.ts'

const mongo = { kind: 'mongo', url: 'mongodb://keeper:hunter2hunter2@db.internal/accounts' }
const redis = { kind: 'redis', url: 'redis://:letmeinletmein@cache.internal' }

describe('settings of tenants', () => {
  const folder = settingsFolder()

  async function load(file: object, env: Readonly<Record<string, string>> = {}): Promise<LoadedTenants> {
    return (await folder.load(file, env)).tenants
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

  it('remove inherited handlers by null', async () => {
    const module = await folder.write('handlers.mjs', '')
    const common = { handlers: { module: 'handlers.mjs' } }
    const tenants = await load(list({ acme: { handlers: { module: null } }, bolt: {} }, common))
    expect(settingsOf(tenants, 'acme').handlers.module).to.equal(null)
    expect(settingsOf(tenants, 'bolt').handlers.module).to.equal(module)
  })

  describe('sources', () => {
    it('are the settings file', async () => {
      const tenants = await load(
        list({ acme: { passwords: { minLength: 12 } }, bolt: {} }, { passwords: { minLength: 10 } }),
      )
      expect([...tenants.enabled.keys()]).to.deep.equal(['acme', 'bolt'])
      expect(settingsOf(tenants, 'acme').passwords.minLength).to.equal(12)
      expect(settingsOf(tenants, 'bolt').passwords.minLength).to.equal(10)
      expect(tenants.disabled.size).to.equal(0)
    })

    it('are a folder, with the settings file or without', async () => {
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

    it('are variables, for tenants of the file, tenants of the folder and new tenants', async () => {
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

    it('are the common settings, merged by member, but a group of another kind replaces a group', async () => {
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

  describe('places', () => {
    it('are separate in each inherited store: a database, a prefix or a folder', async () => {
      const stores = { users: mongo, sessions: redis, tokens: { ...redis, prefix: 'eu:' } }
      const tenants = await load(list({ acme: {}, 'acme-2': {} }, { secret: goodSecret, stores }))
      for (const id of ['acme', 'acme-2']) {
        const own = settingsOf(tenants, id)
        const url = `mongodb://keeper:hunter2hunter2@db.internal/accounts_${id}?authSource=accounts`
        expect(own.stores).to.deep.equal({
          users: { kind: 'mongo', url },
          sessions: { ...redis, prefix: `portcullis:${id}:` },
          tokens: { ...redis, prefix: `eu:${id}:` },
          migrate: 'start',
        })
        expect(own.dataFolder).to.equal(join(folder.path, 'data', 'tenants', id))
      }
    })

    it('have a name of their own in PostgreSQL, which cuts longer ones', async () => {
      const settings = (length: number) => {
        const users = { kind: 'postgres', url: 'postgres://db.internal/accounts', schema: 's'.repeat(length) }
        return list(
          { [`${'a'.repeat(31)}1`]: {}, [`${'a'.repeat(31)}2`]: {} },
          { secret: goodSecret, stores: { users } },
        )
      }
      const { enabled } = await load(settings(30))
      const names = [...enabled.values()].map(({ settings }) => String(settings.stores.users.schema).slice(0, 63))
      expect(new Set(names)).to.have.lengthOf(2)
      expect(pathsOf(await folder.faults(settings(31)))).to.deep.equal(['stores.users.schema'])
    })

    it('stay unchanged if the tenant has its own address', async () => {
      const own = { users: { kind: 'mongo', url: 'mongodb://other.internal/acme' }, sessions: { prefix: 'mine:' } }
      const common = { secret: goodSecret, stores: { users: mongo, sessions: redis, tokens: redis } }
      const tenants = await load(list({ acme: { stores: own, dataFolder: 'elsewhere' } }, common))
      const { stores, dataFolder } = settingsOf(tenants, 'acme')
      expect(stores).to.deep.include({ users: own.users, sessions: { ...redis, prefix: 'mine:' } })
      expect(dataFolder).to.equal(join(folder.path, 'elsewhere'))
    })

    it('have no options of the common kind if the tenant has another kind', async () => {
      const common = { secret: goodSecret, stores: { users: mongo, sessions: redis } }
      const tenants = await load(list({ acme: { stores: { users: { kind: 'sqlite' } } } }, common))
      expect(settingsOf(tenants, 'acme').stores).to.deep.equal({
        users: { kind: 'sqlite' },
        sessions: { ...redis, prefix: 'portcullis:acme:' },
        tokens: { kind: 'sqlite' },
        migrate: 'start',
      })
    })

    it('have no options of the usual kind if the tenant has another kind', async () => {
      const common = { secret: goodSecret, stores: { users: { cacheMegabytes: 64 } } }
      const tenants = await load(list({ acme: { stores: { users: mongo } }, bolt: {} }, common))
      expect(settingsOf(tenants, 'acme').stores.users).to.deep.equal(mongo)
      expect(settingsOf(tenants, 'bolt').stores.sessions).to.deep.equal({ kind: 'sqlite', cacheMegabytes: 64 })
    })

    it('of the tenant `default` are those of a deployment without tenants', async () => {
      // Pages of tenants that a header names are off by default.
      const pages = { enabled: false }
      const common = { secret: goodSecret, stores: { users: mongo, sessions: redis }, pages }
      const without = await folder.load(common)
      const { tenants: _, ...own } = settingsOf(await load(list({ default: {}, acme: {} }, common)), 'default')
      const { tenants: __, ...expected } = without.settings
      expect(own).to.deep.equal(expected)
    })

    it('include a separate name of the cookie', async () => {
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

  it('have the path of the common public URL, if their own paths name them', async () => {
    const own = (publicUrl: string) => ({ http: { publicUrl } })
    const acme = own('https://acme.example.org/accounts')
    const listed = list({ acme, bolt: own('https://bolt.example.org') }, own('https://example.org/accounts'), 'path')
    const tenants = await load(listed)
    expect([...tenants.enabled.keys()]).to.include('acme')
    expect(pathsOf(tenants.disabled.get('bolt'))).to.deep.equal(['tenants.list.bolt.http.publicUrl'])
  })

  it('need a public URL of their own for public keys, if a header names them', async () => {
    const own = { http: { publicUrl: 'https://bolt.example.org' } }
    const byKeys = { backends: { jwt: { strategy: { algorithm: 'ES256' } } } }
    const algorithm = (tenants: LoadedTenants, id: string) => settingsOf(tenants, id).backends.jwt?.strategy
    const given = await load(list({ default: {}, acme: {}, bolt: own, cove: byKeys }, byKeys))
    for (const id of ['default', 'bolt']) expect(algorithm(given, id)).to.include({ algorithm: 'ES256' })
    for (const id of ['acme', 'cove']) {
      const faults = given.disabled.get(id)
      expect(pathsOf(faults), id).to.deep.equal([`tenants.list.${id}.backends.jwt.strategy.algorithm`])
      expect(faults?.[0]?.message).to.include('http.publicUrl')
    }
    const hardened = await load(list({ acme: {}, bolt: own }, { security: { profile: 'hardened' } }))
    expect(algorithm(hardened, 'acme')).to.include({ algorithm: 'HS256' })
    expect(algorithm(hardened, 'bolt')).not.to.have.property('algorithm')
    const byPath = await load(list({ acme: {} }, byKeys, 'path'))
    expect(algorithm(byPath, 'acme')).to.include({ algorithm: 'ES256' })
  })

  it('need another public URL than other tenants for public keys', async () => {
    const own = { http: { publicUrl: 'https://example.org' } }
    const byKeys = { backends: { jwt: { strategy: { algorithm: 'ES256' } } } }
    const tenants = await load(list({ acme: { ...own, ...byKeys }, bolt: { ...own, ...byKeys }, cove: own }))
    expect([...tenants.enabled.keys()]).to.deep.equal(['cove'])
    for (const [id, other] of [
      ['acme', 'bolt'],
      ['bolt', 'acme'],
    ] as const) {
      const [fault] = tenants.disabled.get(id) ?? []
      expect(fault?.path).to.equal(`tenants.list.${id}.http.publicUrl`)
      expect(fault?.message).to.equal(`the issuer https://example.org is also of the tenant ${other}`)
    }
  })

  describe('by host', () => {
    const common = { http: { publicUrl: 'https://accounts.example.org:8443' } }

    it('require hosts for each tenant, and give each its own public URL', async () => {
      const acme = { hosts: ['acme.example.org', 'acme.example.com'] }
      const bolt = { hosts: ['bolt.example.org'], http: { publicUrl: 'https://id.bolt.example.org' } }
      const tenants = await load(list({ acme, bolt, cove: {} }, common, 'host'))
      expect(settingsOf(tenants, 'acme').http.publicUrl).to.equal('https://acme.example.org:8443')
      expect(settingsOf(tenants, 'bolt').http.publicUrl).to.equal('https://id.bolt.example.org')
      expect(pathsOf(tenants.disabled.get('cove'))).to.deep.equal(['tenants.list.cove.hosts'])
    })

    it('keep the path of the common public URL', async () => {
      const path = { http: { publicUrl: 'https://accounts.example.org/accounts' } }
      const tenants = await load(list({ acme: { hosts: ['acme.example.org'] } }, path, 'host'))
      expect(settingsOf(tenants, 'acme').http.publicUrl).to.equal('https://acme.example.org/accounts')
    })

    it('have no defaults for development at a public host', async () => {
      const acme = { hosts: ['acme.example.org'] }
      const tenants = await load(list({ acme, bolt: { hosts: ['bolt.localhost'] } }, {}, 'host'))
      for (const [id, expected] of [
        ['acme', false],
        ['bolt', true],
      ] as const) {
        const { handlers, try: page } = settingsOf(tenants, id)
        expect([handlers.console, page.enabled], id).to.deep.equal([expected, expected])
      }
    })

    it('allow redirects to pages at their own host only', async () => {
      const tenant = (host: string, page: string) => {
        const github = {
          kind: 'github',
          clientId: 'id',
          clientSecret: 'secret',
          redirectUrl: `https://${page}:8443/in`,
        }
        return { hosts: [host], providers: { github } }
      }
      const acme = tenant('acme.example.org', 'acme.example.org')
      const bolt = tenant('bolt.example.org', 'accounts.example.org')
      const { enabled, disabled } = await load(list({ acme, bolt }, common, 'host'))
      expect([...enabled.keys()]).to.deep.equal(['acme'])
      expect(pathsOf(disabled.get('bolt'))).to.deep.equal(['tenants.list.bolt.providers.github.redirectUrl'])
    })

    it('refuse wrong hosts', async () => {
      for (const hosts of ['acme.example.org', ['Acme.example.org'], ['acme.example.org:80'], [''], [7], [null]]) {
        const { disabled } = await load(list({ acme: { hosts } }, common, 'host'))
        expect(pathsOf(disabled.get('acme')), JSON.stringify(hosts)).to.include('tenants.list.acme.hosts')
      }
    })

    it('read hosts from the environment', async () => {
      const tenants = await load(list({ acme: {} }, common, 'host'), {
        PORTCULLIS_TENANTS__LIST__ACME__HOSTS: 'acme.example.org, acme.example.com',
      })
      expect(tenants.enabled.get('acme')?.hosts).to.deep.equal(['acme.example.org', 'acme.example.com'])
    })
  })

  describe('wrong settings', () => {
    it('disable their tenant only, and each fault has a path and a source', async () => {
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
      const described = [...disabled].map(([id, faults]) => [
        id,
        faults.map(({ path, source }) => `${path} (${source})`).sort(),
      ])
      const fileOf = (id: string) => folder.source(join('tenants', `${id}.json`))
      expect(Object.fromEntries(described)).to.deep.equal({
        bolt: [
          `tenants.list.bolt.colour (${fileOf('bolt')})`,
          'tenants.list.bolt.passwords.minLength (environment PORTCULLIS_TENANTS__LIST__BOLT__PASSWORDS__MIN_LENGTH)',
          `tenants.list.bolt.tokens.resetLifetimeSeconds (${fileOf('bolt')})`,
        ],
        cove: [`tenants.list.cove (${fileOf('cove')})`],
        dune: [`tenants.list.dune (${fileOf('dune')})`],
        echo: [`tenants.list.echo.secret (${folder.source()})`],
        flow: ['tenants.list.flow.http.port (environment PORTCULLIS_TENANTS__LIST__FLOW__HTTP__PORT)'],
      })
      expect(JSON.stringify([...disabled])).not.to.include('hunter2')
    })

    it('include settings of the process', async () => {
      const whole = {
        http: { host: '0.0.0.0', port: 80, trustedProxies: [] },
        passwords: { maxWaitSeconds: 1, concurrency: 1 },
        events: { relay: 'off' },
        logs: { level: 'debug' },
        metrics: { port: 9464 },
        docs: { enabled: false },
        tenants: { by: 'path' },
      }
      const { disabled } = await load(list({ acme: whole }))
      const expected = [
        'http.host',
        'http.port',
        'http.trustedProxies',
        'passwords.maxWaitSeconds',
        'passwords.concurrency',
      ]
      for (const path of [...expected, 'events', 'logs', 'metrics', 'docs', 'tenants']) {
        expect(pathsOf(disabled.get('acme'))).to.include(`tenants.list.acme.${path}`)
      }
    })

    it('include a tenant name that is no label of a host', async () => {
      for (const id of ['Acme', '-acme', 'acme-', 'a.b', 'a'.repeat(33), '', '__proto__', 'ä']) {
        const { enabled, disabled } = await load(
          JSON.parse(`{"tenants":{"by":"header","list":{${JSON.stringify(id)}:{}}}}`),
        )
        expect([[...enabled.keys()], [...disabled.keys()]]).to.deep.equal([[], [id]])
      }
    })

    it('include a derived database name that is too long for MongoDB', async () => {
      const users = { kind: 'mongo', url: `mongodb://db.internal/${encodeURIComponent('ä'.repeat(27))}` }
      const tenants = { 'fits-in2': {}, 'fits-no-longer': {} }
      const { enabled, disabled } = await load(list(tenants, { secret: goodSecret, stores: { users } }))
      expect([...enabled.keys()]).to.deep.equal(['fits-in2'])
      const message = 'must name a database of at most 63 bytes, and leads to one whose name has 69'
      const path = 'tenants.list.fits-no-longer.stores.users.url'
      expect(disabled.get('fits-no-longer')).to.deep.equal([{ path, message, source: folder.source() }])
    })

    it('include a database name that MongoDB does not allow', async () => {
      for (const name of ['my.db', 'a%20b', 'a$b', 'a%2Fb', 'a%5Cb', 'a%22b', 'a%00b', '%zz']) {
        const users = { kind: 'mongo', url: `mongodb://db.internal/${name}` }
        const { disabled } = await load(list({ acme: { secret: goodSecret, stores: { users } } }))
        const [fault] = disabled.get('acme') ?? []
        expect(fault?.path, name).to.equal('tenants.list.acme.stores.users.url')
        expect(fault?.message).to.match(/^must name a database without a space or any of /)
      }
    })

    it('include a pipe as the file of a tenant, which could block the start for ever', async () => {
      await inFolder({ 'bolt.json': {} })
      execFileSync('mkfifo', [join(folder.path, 'tenants', 'acme.json')])
      const { enabled, disabled } = await load({ tenants: { by: 'header', folder: 'tenants' } })
      expect([...enabled.keys()]).to.deep.equal(['bolt'])
      expect(renderFaults(disabled.get('acme') ?? [])).to.include('is no regular file')
    })

    it('include a tenant that is both in the file and in the folder', async () => {
      await inFolder({ 'acme.json': {} })
      const { disabled } = await load({ tenants: { by: 'header', folder: 'tenants', list: { acme: {}, bolt: {} } } })
      expect([...disabled.keys()]).to.deep.equal(['acme'])
    })

    it('include two tenants with the same place in a store', async () => {
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
      const messages = [...disabled].map(([id, faults]) => [
        id,
        faults.map(({ path, message }) => `${path} ${message}`),
      ])
      const sameAs = (path: string, id: string) => [`tenants.list.${path} these records are also of the tenant ${id}`]
      expect(Object.fromEntries(messages)).to.deep.equal({
        acme: sameAs('acme.stores.users', 'bolt'),
        bolt: sameAs('bolt.stores.users', 'acme'),
        cove: sameAs('cove.stores.sessions', 'dune'),
        dune: sameAs('dune.stores.sessions', 'cove'),
      })
    })

    it('include two tenants with the same host, and no other tenant gets its requests', async () => {
      const acme = { hosts: ['one.example'], colour: 'blue' }
      const bolt = { hosts: ['two.example', 'one.example'] }
      const { enabled, disabled, disabledHosts } = await load(
        list({ acme, bolt, cove: { hosts: ['three.example'] } }, {}, 'host'),
      )
      expect([...enabled.keys()]).to.deep.equal(['cove'])
      expect(pathsOf(disabled.get('acme'))).to.deep.equal(['tenants.list.acme.colour', 'tenants.list.acme.hosts'])
      expect(pathsOf(disabled.get('bolt'))).to.deep.equal(['tenants.list.bolt.hosts'])
      expect([...disabledHosts.keys()]).to.have.members(['one.example', 'two.example'])
    })

    it('include users on a server without a secret', async () => {
      const { enabled, disabled } = await load(list({ acme: { stores: { users: mongo } }, bolt: {} }))
      expect([...enabled.keys()]).to.deep.equal(['bolt'])
      expect(pathsOf(disabled.get('acme'))).to.deep.equal(['tenants.list.acme.secret'])
    })

    it('never stop the start, whatever the file contains', async () => {
      const keys = 'stores users kind url backends cookie transport hosts http publicUrl x'.split(' ')
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

  it('stop the start for a fault that concerns all tenants', async () => {
    for (const [tenants, path] of [
      [{ list: { acme: {} } }, 'tenants.by'],
      [{ folder: 'tenants' }, 'tenants.by'],
      [{ maxOpen: 5 }, 'tenants.by'],
      [{ by: 'cookie', list: {} }, 'tenants.by'],
      [{ by: 'header', folder: 'nowhere' }, 'tenants.folder'],
      [{ by: 'header', list: ['acme'] }, 'tenants.list'],
      [{ by: 'header', lists: {} }, 'tenants.lists'],
      [{ by: 'header', header: 'X Tenant' }, 'tenants.header'],
      [{ by: 'path', pathPrefix: 't/' }, 'tenants.pathPrefix'],
    ] as const) {
      expect(pathsOf(await folder.faults({ tenants })), JSON.stringify(tenants)).to.deep.equal([path])
    }
  })

  it('cause a warning if `tenants.by` is set and there are none', async () => {
    await inFolder({})
    for (const tenants of [{ by: 'path' }, { by: 'header', list: {} }, { by: 'host', folder: 'tenants' }]) {
      expect((await folder.load({ tenants })).warnings).to.deep.equal([
        'tenants.by is set, but there are no tenants: add them to tenants.list or tenants.folder',
      ])
    }
  })

  it('stop the start if variables name tenants and `tenants.by` is missing', async () => {
    const faults = await folder.faults(undefined, { PORTCULLIS_TENANTS__LIST__ACME__STORES__USERS__KIND: 'x' })
    expect(pathsOf(faults)).to.deep.equal(['tenants.by'])
  })

  it('name the variable of a missing folder', async () => {
    const env = { PORTCULLIS_TENANTS__BY: 'path', PORTCULLIS_TENANTS__FOLDER: 'nowhere' }
    const faults = await folder.faults(undefined, env)
    expect(faults.map(({ path, source }) => ({ path, source }))).to.deep.equal([
      { path: 'tenants.folder', source: 'environment PORTCULLIS_TENANTS__FOLDER' },
    ])
  })

  it('are printed without a secret', async () => {
    const acme = { secret: `acme ${goodSecret}`, stores: { users: mongo } }
    const loaded = await folder.load(list({ acme }, { secret: goodSecret, stores: { sessions: redis } }))
    const found = loaded.tenants.enabled.get('acme')
    const printed = [renderSettings(loaded), renderSettings({ ...loaded, ...found })]
    for (const text of printed) {
      for (const secret of [goodSecret, 'hunter2', 'letmein']) expect(text).not.to.include(secret)
    }
    expect(printed[0]).to.match(/tenants\.list +\["acme"\]/)
  })

  it('have the file of the tenant as their source', async () => {
    await inFolder({ 'acme.json': { passwords: { minLength: 12 } } })
    const file = { passwords: { timeCost: 4 }, tenants: { by: 'header', folder: 'tenants' } }
    const { tenants } = await folder.load(file, { PORTCULLIS_LIMITS__PASSWORDS_PER_CLIENT: '7' })
    const sources = tenants.enabled.get('acme')?.sources
    expect(sources?.get('passwords.minLength')).to.equal(folder.source(join('tenants', 'acme.json')))
    expect(sources?.get('passwords.timeCost')).to.equal(folder.source())
    const inherited = sources?.get('limits.passwordsPerClient')
    expect(inherited).to.equal('environment PORTCULLIS_LIMITS__PASSWORDS_PER_CLIENT')
  })
})
