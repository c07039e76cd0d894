import { execFileSync } from 'node:child_process'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { renderSettings } from '../../../src/cli/describe-settings.ts'
import { type LoadFrom, loadSettings, settingsOf } from '../../../src/config/settings/load.ts'
import { faultsOf, goodSecret, settingsFolder } from '../../support/services/settings.ts'

const mongo = { users: { kind: 'mongo', url: 'mongodb://127.0.0.1/accounts' } }

describe('loading the settings', () => {
  const folder = settingsFolder()

  it('works without any settings, because each has a default', async () => {
    const { settings, sources, warnings } = await folder.load()
    expect(warnings).to.deep.equal([])
    expect(new Set(sources.values())).to.deep.equal(new Set(['default']))
    // docs/configuration.md shows all of them, and a test keeps it current.
    expect(settings.http).to.include({ host: '127.0.0.1', port: 3000 })
    expect(settings.dataFolder).to.equal(join(folder.path, 'data'))
    expect(settings.stores.users).to.deep.equal({ kind: 'sqlite' })
    expect(Object.keys(settings.backends)).to.deep.equal(['jwt', 'cookie'])
  })

  describe('sources', () => {
    it('prefers each variable to the file, and the file to the defaults', async () => {
      const file = { http: { port: 4000, host: 'localhost' }, logs: { level: 'debug' } }
      const { settings, sources } = await folder.load(file, { PORTCULLIS_HTTP__PORT: '5000' })
      expect(settings.http).to.include({ port: 5000, host: 'localhost' })
      expect(sources.get('http.port')).to.equal('environment PORTCULLIS_HTTP__PORT')
      expect(sources.get('http.host')).to.equal(folder.source())
      expect(sources.get('logs.requests')).to.equal('default')
    })

    it('reads the file of --config, else of PORTCULLIS_CONFIG, else of the current folder', async () => {
      for (const port of [1, 2, 3]) await folder.write(`${port}.json`, JSON.stringify({ http: { port } }))
      await folder.write('portcullis.config.json', JSON.stringify({ http: { port: 4 } }))
      const env = { PORTCULLIS_CONFIG: '2.json' }
      const portOf = async (from: Partial<LoadFrom>) => {
        return (await loadSettings({ env: {}, cwd: folder.path, ...from })).settings.http.port
      }
      expect(await portOf({ env, configFile: '1.json' })).to.equal(1)
      expect(await portOf({ env })).to.equal(2)
      expect(await portOf({ configFile: join(folder.path, '3.json') })).to.equal(3)
      expect(await portOf({})).to.equal(4)
    })

    it('refuses a missing file only if a flag or variable names it', async () => {
      expect(await folder.faults()).to.deep.equal([])
      expect(await folder.faults(undefined, { PORTCULLIS_CONFIG: 'gone.json' })).to.deep.equal([
        {
          path: '',
          message: `${join(folder.path, 'gone.json')} does not exist`,
          source: 'environment PORTCULLIS_CONFIG',
        },
      ])
      const named = faultsOf(loadSettings({ env: {}, cwd: folder.path, configFile: 'gone.json' }))
      expect(await named).to.have.length(1)
    })

    it('reports the position of a JSON error, and no other fault', async () => {
      for (const [text, place] of [
        ['{\n  "http": { "port": 3000 }\n  "secret": "abc"\n}', ': line 3, column 3'],
        ['{\n  "http": {', ': line 2, column 12'],
        ['{\n  "secret": abc\n}', ': line 2, column 13'],
        ['{ "secret": "abc", "http": [1,] }', ': line 1, column 31; JSON has no comma before ]'],
        ['NaN', ': line 1, column 1'],
        ['// The settings.\n{}', ': line 1, column 1; JSON has no comments'],
        ['{\n  /* The port. */\n  "http": {} }', ': line 2, column 3; JSON has no comments'],
        ['{}\n# The end.', ': line 2, column 1; JSON has no comments'],
        ['{\n  "http": { "port": 1, }\n}', ': line 2, column 24; JSON has no comma before }'],
      ]) {
        const path = await folder.write('portcullis.config.json', `${text}`)
        expect(await folder.faults(undefined, { PORTCULLIS_HTTP__HOST: '0.0.0.0' })).to.deep.equal([
          { path: '', message: `${path} is not JSON${place}`, source: 'default' },
        ])
      }
    })

    it('names the file in the message, once', async () => {
      const path = await folder.write('portcullis.config.json', '{"http":{"port":"many"}}')
      const messageOf = () => folder.load().catch((error: Error) => error.message)
      expect(await messageOf()).to.equal(`http.port: must be a whole number from 0 to 65535 (file ${path})`)
      await folder.write('portcullis.config.json', '{')
      expect(await messageOf()).to.equal(`${path} is not JSON: line 1, column 2`)
    })

    it('names no file in faults of settings from a program', async () => {
      const given = { path: null, value: { http: { port: 'many' }, colour: 'blue' } }
      const thrown = await settingsOf(given, { env: {}, cwd: folder.path }).catch((error: unknown) => error)
      expect(String(thrown)).to.equal(
        'SettingsFault: colour: no such setting\nhttp.port: must be a whole number from 0 to 65535',
      )
    })

    for (const [text, problem] of [
      ['[]', 'must be an object that holds settings'],
      ['null', 'must be an object that holds settings'],
      ['{"http":{"port":1},"http":{"host":"::1"}}', 'has http twice'],
      ['{"http":{"port":1,"host":"::1","\\u0070ort":2}}', 'has http.port twice'],
      ['{"providers":{"a":{"b":{}},"c":{"b":[{"d":1,"d":2}]}}}', 'has providers.c.b..d twice'],
      [Uint8Array.of(0x22, 0xff, 0x22), 'is not UTF-8'],
    ] as const) {
      it(`refuses a file that ${problem}: ${String(text).slice(0, 60)}`, async () => {
        const path = await folder.write('portcullis.config.json', text)
        expect(await folder.faults()).to.deep.equal([{ path: '', message: `${path} ${problem}`, source: 'default' }])
      })
    }

    it('refuses a pipe, which could block the start for ever, and a folder', async () => {
      const path = join(folder.path, 'portcullis.config.json')
      execFileSync('mkfifo', [path])
      const refused = { path: '', message: `${path} is no regular file`, source: 'default' }
      expect(await folder.faults()).to.deep.equal([refused])
      await rm(path)
      await mkdir(path)
      expect(await folder.faults()).to.deep.equal([refused])
    })

    it('names wrong items of a list by their positions', async () => {
      const good = 'https://a.example'
      const wrong = ['*', 'null', `${good}/`, `${good}:443`, 'https://A.example', 'https://*.a.example']
      const [fault] = await folder.faults({ http: { allowedOrigins: [good, ...wrong, 'http://localhost:5173'] } })
      expect(fault?.message).to.match(/^must be a list .*; wrong: item 2, 3, 4, 5, 6, 7$/)
    })

    it('accepts a file with a byte order mark', async () => {
      await folder.write('portcullis.config.json', '\ufeff{"http":{"port":7}}')
      expect((await folder.load()).settings.http.port).to.equal(7)
    })

    it('resolves relative paths from the current folder', async () => {
      await folder.write('handlers.mjs', '')
      const { settings } = await folder.load({ dataFolder: 'kept', handlers: { module: './handlers.mjs' } })
      expect(settings.dataFolder).to.equal(join(folder.path, 'kept'))
      expect(settings.handlers.module).to.equal(join(folder.path, 'handlers.mjs'))
    })
  })

  describe('defaults that depend on other settings', () => {
    it("gives sessions and tokens the users' kind and address, and an address only to the same kind", async () => {
      const sessions = { kind: 'redis', url: 'redis://127.0.0.1' }
      const { settings } = await folder.load({ secret: goodSecret, stores: { ...mongo, sessions } })
      expect(settings.stores).to.deep.equal({ ...mongo, sessions, tokens: mongo.users, migrate: 'start' })
      const local = await folder.load({ secret: goodSecret, stores: { ...mongo, sessions: { kind: 'memory' } } })
      expect(local.settings.stores.sessions).to.deep.equal({ kind: 'memory' })
    })

    it('prints events and serves /try by default only where host and public URL are loopback', async () => {
      for (const [http, expected] of [
        [{}, true],
        [{ host: '::1' }, true],
        [{ publicUrl: 'http://localhost:8080' }, true],
        [{ publicUrl: 'https://accounts.example.com' }, false],
        [{ host: '0.0.0.0', publicUrl: 'http://localhost:3000' }, false],
        [{ host: '0.0.0.0', publicUrl: 'https://accounts.example.com' }, false],
      ] as const) {
        const { settings } = await folder.load({ http })
        expect([settings.handlers.console, settings.try.enabled], JSON.stringify(http)).to.deep.equal([
          expected,
          expected,
        ])
      }
    })

    it('prints no events by default if there is a module of handlers', async () => {
      await folder.write('handlers.mjs', '')
      const consoleOf = async (file: unknown) => (await folder.load(file)).settings.handlers.console
      expect(await consoleOf({ handlers: { module: 'handlers.mjs' } })).to.equal(false)
      expect(await consoleOf({ handlers: { module: 'handlers.mjs', console: true } })).to.equal(true)
      expect(await consoleOf({ handlers: { console: false } })).to.equal(false)
    })

    it('needs no secret for commands that use none', async () => {
      const loaded = await loadSettings({
        env: { PORTCULLIS_STORES__USERS__KIND: 'mongo', PORTCULLIS_STORES__USERS__URL: mongo.users.url },
        cwd: folder.path,
        withoutSecret: true,
      })
      expect(loaded.settings.secret).to.equal(null)
    })
  })

  describe('backends', () => {
    it('merges options into the two default backends, and adds other backends after them in their order', async () => {
      const bearer = { transport: { kind: 'bearer' }, strategy: { kind: 'stored' } }
      const { settings } = await folder.load({
        backends: { zeta: bearer, cookie: { strategy: { idleSeconds: 60 } }, app: { ...bearer, prefix: '/app' } },
      })
      expect(Object.keys(settings.backends)).to.deep.equal(['jwt', 'cookie', 'zeta', 'app'])
      expect(settings.backends.cookie?.strategy).to.deep.equal({
        kind: 'stored',
        lifetimeSeconds: 2_592_000,
        idleSeconds: 60,
      })
      expect(settings.backends.zeta?.prefix).to.equal('/auth/zeta')
      expect(settings.backends.app?.prefix).to.equal('/app')
    })

    it('uses the defaults of the new kind when a kind is changed', async () => {
      const { settings } = await folder.load({}, { PORTCULLIS_BACKENDS__JWT__STRATEGY__KIND: 'stored' })
      expect(settings.backends.jwt?.strategy).to.include({ kind: 'stored', idleSeconds: 86_400 })
    })

    it('accepts a lifetime that is shorter than the idle limit', async () => {
      const { settings } = await folder.load({ backends: { cookie: { strategy: { lifetimeSeconds: 60 } } } })
      expect(settings.backends.cookie?.strategy).to.include({ lifetimeSeconds: 60, idleSeconds: 86_400 })
    })

    it('ignores disabled backends in the check for equal cookie names', async () => {
      const cookie = { transport: { kind: 'cookie' }, strategy: { kind: 'stored' } }
      const { settings } = await folder.load({ backends: { cookie: { enabled: false }, web: cookie } })
      expect(settings.backends.cookie?.enabled).to.equal(false)
    })
  })

  it('repeats no wrong value in the message of a fault', async () => {
    const secrets = fc.stringMatching(/^[A-Za-z0-9]{32,60}$/)
    // The planted text stands in its own place, and in each kind of place where it does not belong.
    const files = (planted: string): unknown[] => [
      { secret: planted, stores: { users: { kind: 'mongo', url: `mongodb://u:${planted}@h/n` } } },
      { secret: planted, stores: { users: { kind: 'mongo', url: `mongodb://u:${planted}@h` } } },
      { secret: `${planted.slice(0, 31)}`, stores: { users: { url: planted }, sessions: { kind: planted } } },
      {
        secret: [planted],
        http: { port: planted, publicUrl: `https://u:${planted}@h`, allowedOrigins: [planted, '*'] },
      },
      {
        passwords: planted,
        backends: { jwt: { transport: { kind: planted } }, cookie: planted },
        docs: { enabled: planted },
      },
    ]
    await fc.assert(
      fc.asyncProperty(secrets, fc.nat(4), fc.boolean(), async (planted, which, malformed) => {
        const text = JSON.stringify(files(planted)[which])
        await folder.write('portcullis.config.json', malformed ? text.replaceAll('"', '') : text)
        const env = { PORTCULLIS_STORES__TOKENS__URL: `redis://:${planted}@h`, PORTCULLIS_TOKENS: planted }
        for (const given of [{}, env, { ...env, PORTCULLIS_SECRET_FILE: planted, PORTCULLIS_HTTP__PORT: planted }]) {
          const printed = await folder.load(undefined, given).then(
            (loaded) => [renderSettings(loaded), ...loaded.warnings].join('\n'),
            (error: Error) => `${error.message}${error.stack}`,
          )
          expect(printed).not.to.contain(planted.slice(0, 31))
        }
      }),
      { numRuns: 60 },
    )
  })
})
