import { generateKeyPairSync } from 'node:crypto'
import { expect } from 'chai'
import { providers } from '../../src/config/plugins/providers.ts'
import { strategies } from '../../src/config/plugins/strategies.ts'
import { transports } from '../../src/config/plugins/transports.ts'
import type { LoadFrom } from '../../src/config/settings/load.ts'
import { annotations } from '../../src/config/settings/schema/fields.ts'
import { settingsSchema } from '../../src/config/settings/schema/schema.ts'
import { leavesOf } from '../../src/config/settings/schema/tree.ts'
import { goodSecret, SettingsFolder } from '../support/settings.ts'

describe('settings from the environment', () => {
  const folder = new SettingsFolder()
  beforeEach(() => folder.open())
  afterEach(() => folder.remove())

  const portOf = async (text: string) => (await folder.load({}, { PORTCULLIS_HTTP__PORT: text })).settings.http.port
  const docsOf = async (text: string) =>
    (await folder.load({}, { PORTCULLIS_DOCS__ENABLED: text })).settings.docs.enabled

  describe('values', () => {
    it('types numbers and booleans by the schema', async () => {
      expect(await portOf(' 0080 ')).to.equal(80)
      for (const yes of ['true', 'TRUE', '1', 't', 'yes', 'Y', 'on']) expect(await docsOf(yes)).to.equal(true)
      for (const no of ['false', 'False', '0', 'f', 'no', 'n', 'off']) expect(await docsOf(no)).to.equal(false)
    })

    it('refuses what is no number or boolean, in whatever way a language would read it as one', async () => {
      for (const text of ['0x50', '1e3', 'eighty', '80 81', '1_000', 'NaN', ' ', '12.5']) {
        const faults = await folder.faults({}, { PORTCULLIS_HTTP__PORT: text })
        expect(faults.map(({ path }) => path)).to.deep.equal(['http.port'])
      }
      const faults = await folder.faults({}, { PORTCULLIS_DOCS__ENABLED: '2' })
      expect(faults.map(({ path }) => path)).to.deep.equal(['docs.enabled'])
    })

    it('splits lists at commas, and drops space and empty items', async () => {
      const env = { PORTCULLIS_HTTP__ALLOWED_ORIGINS: ' https://a.example ,,https://b.example,' }
      const { settings } = await folder.load({}, env)
      expect(settings.http.allowedOrigins).to.deep.equal(['https://a.example', 'https://b.example'])
    })

    it('takes an empty variable for an absent one', async () => {
      const env = {
        PORTCULLIS_HTTP__PORT: '',
        PORTCULLIS_SECRET_FILE: '',
        PORTCULLIS_HTTP__NO: '',
        PORTCULLIS_CONFIG: '',
      }
      const { settings, warnings } = await folder.load({ http: { port: 80 } }, env)
      expect(settings.http.port).to.equal(80)
      expect(warnings).to.deep.equal([])
    })
  })

  describe('secrets in files', () => {
    it('reads them without one newline at the end, and nothing else', async () => {
      for (const [content, secret] of [
        [`${goodSecret}\n`, goodSecret],
        [`${goodSecret}\r\n`, goodSecret],
        [` ${goodSecret}\n\n`, ` ${goodSecret}\n`],
      ] as const) {
        await folder.write('secret', content)
        const { settings, sources } = await folder.load({}, { PORTCULLIS_SECRET_FILE: 'secret' })
        expect(settings.secret).to.equal(secret)
        expect(sources.get('secret')).to.equal('environment PORTCULLIS_SECRET_FILE')
      }
    })

    it('reads addresses in the same way', async () => {
      const url = await folder.write('url', 'redis://:password@127.0.0.1\n')
      const env = { PORTCULLIS_STORES__TOKENS__KIND: 'redis', PORTCULLIS_STORES__TOKENS__URL_FILE: url }
      const { settings } = await folder.load({}, env)
      expect(settings.stores.tokens.url).to.equal('redis://:password@127.0.0.1')
    })

    it('refuses a file that is missing or empty, and a secret that is given twice', async () => {
      await folder.write('empty', '\n')
      const source = 'environment PORTCULLIS_SECRET_FILE'
      expect(await folder.faults({}, { PORTCULLIS_SECRET_FILE: 'gone' })).to.deep.equal([
        { path: 'secret', message: 'the file cannot be read (ENOENT)', source },
      ])
      expect(await folder.faults({}, { PORTCULLIS_SECRET_FILE: 'empty' })).to.deep.equal([
        { path: 'secret', message: 'the file is empty', source },
      ])
      expect(await folder.faults({}, { PORTCULLIS_SECRET_FILE: 'empty', PORTCULLIS_SECRET: goodSecret })).to.deep.equal(
        [{ path: 'secret', message: 'is given twice: PORTCULLIS_SECRET is set as well', source }],
      )
    })

    it('reads nothing but secrets from files', async () => {
      const faults = await folder.faults({}, { PORTCULLIS_HTTP__PORT_FILE: 'port' })
      expect(faults.map(({ path }) => path)).to.deep.equal(['http.port'])
    })
  })

  describe('names', () => {
    it('finds the entry of a map in whatever case the file has it, and otherwise opens one in lower case', async () => {
      const env = {
        PORTCULLIS_BACKENDS__JWT__REQUIRES_VERIFICATION: 'true',
        PORTCULLIS_BACKENDS__APP__TRANSPORT__KIND: 'bearer',
        PORTCULLIS_BACKENDS__APP__STRATEGY__KIND: 'jwt',
      }
      const { settings } = await folder.load({ backends: { cookie: { requiresVerification: true } } }, env)
      expect(Object.keys(settings.backends)).to.deep.equal(['jwt', 'cookie', 'app'])
      expect(Object.values(settings.backends).map((one) => one.requiresVerification)).to.deep.equal([true, true, false])

      const faults = await folder.faults({ backends: { JWT: {} } }, env)
      expect(faults).to.have.length(1)
      expect(faults[0]).to.include({ path: 'backends.JWT' })
    })

    it('opens an entry even under the name of an inherited member', async () => {
      const env = {
        PORTCULLIS_BACKENDS__CONSTRUCTOR__TRANSPORT__KIND: 'bearer',
        PORTCULLIS_BACKENDS__CONSTRUCTOR__STRATEGY__KIND: 'jwt',
      }
      const { settings } = await folder.load({ backends: {} }, env)
      expect(Object.keys(settings.backends)).to.deep.equal(['jwt', 'cookie', 'constructor'])
    })

    it('refuses unknown ones with __, with the nearest that there is', async () => {
      for (const [variable, meant] of [
        ['PORTCULLIS_HTTP__PROT', 'PORTCULLIS_HTTP__PORT'],
        ['PORTCULLIS_HTPP__PORT', 'PORTCULLIS_HTTP__PORT'],
        ['PORTCULLIS_STORES__USER__KIND', 'PORTCULLIS_STORES__USERS__KIND'],
        ['PORTCULLIS_BACKENDS__JWT__REQUIRE_VERIFICATION', 'PORTCULLIS_BACKENDS__JWT__REQUIRES_VERIFICATION'],
      ] as const) {
        const [fault, ...others] = await folder.faults({}, { [variable]: '1' })
        expect(fault?.message).to.equal(`no such setting; did you mean ${meant}?`)
        expect(fault?.source).to.equal(`environment ${variable}`)
        expect(others).to.deep.equal([])
      }
    })

    it('refuses groups, inherited members and names with empty parts', async () => {
      const names = [
        'STORES__USERS',
        'BACKENDS__JWT',
        'HTTP__',
        '__PORT',
        'HTTP__CONSTRUCTOR',
        'HTTP__PORT__X',
        'BACKENDS____PROTO____ENABLED',
      ]
      for (const name of names) {
        const faults = await folder.faults({}, { [`PORTCULLIS_${name}`]: 'true' })
        expect(faults, name).to.have.length(1)
      }
      expect(Object.hasOwn(Object.prototype, 'enabled')).to.equal(false)
    })

    it('only warns of unknown ones without __, such as Kubernetes sets', async () => {
      const env = { PORTCULLIS_SERVICE_HOST: '10.0.0.1', PORTCULLIS_HTTP_PORT: '80', OTHER__NAME: 'x' }
      const { settings, warnings } = await folder.load({}, env)
      expect(settings.http.port).to.equal(3000)
      expect(warnings).to.deep.equal([
        'PORTCULLIS_SERVICE_HOST is ignored: no such setting',
        'PORTCULLIS_HTTP_PORT is ignored: no such setting; did you mean PORTCULLIS_HTTP__PORT?',
      ])
    })

    it('refuses an option that the configured kind does not have', async () => {
      const faults = await folder.faults({}, { PORTCULLIS_BACKENDS__JWT__TRANSPORT__PATH: '/' })
      expect(faults).to.have.length(1)
      expect(faults[0]).to.include({ path: 'backends.jwt.transport.path' })
    })
  })

  describe('every setting', () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const applesKey = String(privateKey.export({ format: 'pem', type: 'pkcs8' }))
    /** Where a value cannot be just any other one. */
    const samples: Record<string, string> = {
      'http.host': 'localhost',
      'http.publicUrl': 'https://accounts.example.com',
      'http.allowedOrigins': 'https://a.example, https://b.example',
      secret: goodSecret,
      'stores.users.kind': 'memory',
      'stores.users.url': 'mongodb://127.0.0.1/name',
      'stores.sessions.url': 'redis://127.0.0.1',
      'stores.tokens.url': 'redis://127.0.0.1',
      'stores.sessions.kind': 'redis',
      'stores.tokens.kind': 'redis',
      'handlers.module': 'handlers.mjs',
      'passwords.timeCost': '3',
      'backends.*.transport.name': 'other',
      'backends.*.transport.path': '/app',
      'backends.*.transport.domain': 'a.example',
      'backends.*.strategy.idleSeconds': '600',
      'providers.*.clientId': 'an id',
      'providers.*.clientSecret': 'a secret',
      'providers.*.authorizeUrl': 'https://a.example/authorize',
      'providers.*.tokenUrl': 'https://a.example/token',
      'providers.*.profileUrl': 'https://a.example/profile',
      'providers.*.issuer': 'https://a.example',
      'providers.*.url': 'https://a.example',
      'providers.*.domain': 'example.okta.com',
      'providers.*.authorizationServer': 'default',
      'providers.*.tenant': 'organizations',
      'providers.*.shop': 'example',
      'providers.*.teamId': 'A1B2C3D4E5',
      'providers.*.keyId': 'F6G7H8J9K0',
      'providers.*.privateKey': applesKey,
      'providers.*.scopes': 'one, two',
      'providers.*.profile.accountId': 'account.id',
      'providers.*.profile.email': 'account.email',
      'providers.*.profile.emailVerified': 'account.verified',
      'providers.*.backend': 'cookie',
      'providers.*.redirects.success': 'https://a.example/in',
      'providers.*.redirects.linked': 'https://a.example/linked',
      'providers.*.redirects.failure': 'https://a.example/sorry',
      'stores.sessions.prefix': 'other:',
      'stores.tokens.prefix': 'other:',
      'tenants.header': 'X-Customer',
      'tenants.folder': '.',
      'providers.*.redirectUrl': 'http://localhost:3000/try',
      'providers.*.redirectUrlAssociate': 'http://localhost:3000/try',
    }
    const alongside: Record<string, LoadFrom['env']> = {
      'stores.users.url': { PORTCULLIS_STORES__USERS__KIND: 'mongo', PORTCULLIS_SECRET: goodSecret },
      'stores.sessions.url': { PORTCULLIS_STORES__SESSIONS__KIND: 'redis' },
      'stores.tokens.url': { PORTCULLIS_STORES__TOKENS__KIND: 'redis' },
      'stores.sessions.kind': { PORTCULLIS_STORES__SESSIONS__URL: 'redis://127.0.0.1' },
      'stores.sessions.prefix': {
        PORTCULLIS_STORES__SESSIONS__KIND: 'redis',
        PORTCULLIS_STORES__SESSIONS__URL: 'redis://127.0.0.1',
      },
      'stores.tokens.prefix': {
        PORTCULLIS_STORES__TOKENS__KIND: 'redis',
        PORTCULLIS_STORES__TOKENS__URL: 'redis://127.0.0.1',
      },
      'tenants.folder': { PORTCULLIS_TENANTS__BY: 'path' },
      'stores.tokens.kind': { PORTCULLIS_STORES__TOKENS__URL: 'redis://127.0.0.1' },
    }

    for (const { path, schema, kinds } of leavesOf(settingsSchema)) {
      if (annotations(schema).byEntry) continue
      const dotted = path.join('.')
      it(`can be set by the environment: ${dotted}${kinds.length > 0 ? ` (${kinds})` : ''}`, async () => {
        await folder.write('handlers.mjs', '')
        const text = samples[dotted] ?? otherThanDefault(schema)
        const name = path.map((key) => (key === '*' ? 'EXTRA' : key.replace('KiB', 'Kib')))
        const variable = `PORTCULLIS_${name.map((key) => key.replace(/([a-z])([A-Z])/g, '$1_$2').toUpperCase()).join('__')}`
        const extra =
          path[0] === 'backends' ? aBackend(kinds, text) : path[0] === 'providers' ? aProvider(kinds[0] ?? text) : {}

        const loaded = await folder.load(undefined, { ...extra, ...alongside[dotted], [variable]: text })

        const effective = path.map((key) => (key === '*' ? 'extra' : key))
        expect(loaded.sources.get(effective.join('.'))).to.equal(`environment ${variable}`)
        const value = effective.reduce<unknown>((group, key) => Reflect.get(Object(group), key), loaded.settings)
        const shown = Array.isArray(value) ? value.join(', ') : String(value)
        expect(
          dotted === 'handlers.module' || dotted === 'dataFolder' ? shown.endsWith(text) : shown === text,
        ).to.equal(true)
      })
    }

    function aBackend(kinds: readonly string[], text: string): Record<string, string> {
      const asked = (parts: readonly { readonly kind: string }[]) =>
        parts.find(({ kind }) => kinds.includes(kind))?.kind
      return {
        PORTCULLIS_BACKENDS__EXTRA__TRANSPORT__KIND: asked(transports) ?? 'bearer',
        PORTCULLIS_BACKENDS__EXTRA__TRANSPORT__NAME: kinds.includes('cookie') || text === 'cookie' ? 'extra' : '',
        PORTCULLIS_BACKENDS__EXTRA__STRATEGY__KIND: asked(strategies) ?? 'stored',
      }
    }

    /** With what it cannot be without; `text` may be a kind. */
    function aProvider(text: string): Record<string, string> {
      const { kind, options } = providers.find((one) => one.kind === text) ?? providers[0]
      const required = Object.entries(options).filter(([, schema]) => !('default' in schema || 'otherwise' in schema))
      const samplesOf = required.flatMap(([name]) => {
        const sample = samples[`providers.*.${name}`]
        return sample === undefined ? [] : [[name, sample] as const]
      })
      return Object.fromEntries(
        [['kind', kind], ...samplesOf].map(([name, sample]) => [
          `PORTCULLIS_PROVIDERS__EXTRA__${name.replace(/([A-Z])/g, '_$1').toUpperCase()}`,
          sample,
        ]),
      )
    }

    function otherThanDefault(schema: object): string {
      const { default: standard, enum: words, type, maximum } = schema as Record<string, unknown>
      if (Array.isArray(words)) return String(words.at(-1))
      if (type === 'boolean') return String(standard !== true)
      if (type === 'integer' || type === 'number') return String(maximum)
      return typeof standard === 'string' && standard.startsWith('/') ? '/other' : type === 'string' ? '/elsewhere' : ''
    }
  })
})
