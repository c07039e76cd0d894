import { generateKeyPairSync } from 'node:crypto'
import { expect } from 'chai'
import { annotations } from '../../../src/config/settings/schema/fields.ts'
import { settingsSchema } from '../../../src/config/settings/schema/schema.ts'
import { leavesOf } from '../../../src/config/settings/schema/tree.ts'
import { variableOf } from '../../../src/config/settings/sources/environment.ts'
import { goodSecret, settingsFolder } from '../../support/services/settings.ts'

describe('settings from the environment', () => {
  const folder = settingsFolder()

  const portOf = async (text: string) => (await folder.load({}, { PORTCULLIS_HTTP__PORT: text })).settings.http.port
  const docsOf = async (text: string) =>
    (await folder.load({}, { PORTCULLIS_DOCS__ENABLED: text })).settings.docs.enabled

  describe('values', () => {
    it('converts numbers and booleans as the schema says', async () => {
      expect(await portOf(' 0080 ')).to.equal(80)
      for (const yes of ['true', 'TRUE', '1', 't', 'yes', 'Y', 'on']) expect(await docsOf(yes)).to.equal(true)
      for (const no of ['false', 'False', '0', 'f', 'no', 'n', 'off']) expect(await docsOf(no)).to.equal(false)
    })

    it('refuses other spellings of numbers and booleans', async () => {
      for (const text of ['0x50', '1e3', 'eighty', '80 81', '1_000', 'NaN', ' ', '12.5']) {
        const faults = await folder.faults({}, { PORTCULLIS_HTTP__PORT: text })
        expect(faults.map(({ path }) => path)).to.deep.equal(['http.port'])
      }
      const faults = await folder.faults({}, { PORTCULLIS_DOCS__ENABLED: '2' })
      expect(faults.map(({ path }) => path)).to.deep.equal(['docs.enabled'])
    })

    it('splits lists at commas, and removes spaces and empty items', async () => {
      const env = { PORTCULLIS_HTTP__ALLOWED_ORIGINS: ' https://a.example ,,https://b.example,' }
      const { settings } = await folder.load({}, env)
      expect(settings.http.allowedOrigins).to.deep.equal(['https://a.example', 'https://b.example'])
      for (const empty of ['[]', ',']) {
        const none = await folder.load({}, { PORTCULLIS_HTTP__TRUSTED_PROXIES: empty })
        expect(none.settings.http.trustedProxies).to.deep.equal([])
      }
      const [fault] = await folder.faults({}, { PORTCULLIS_HTTP__ALLOWED_ORIGINS: '["https://a.example"]' })
      expect(fault?.message).to.include('wrong: item 1 (commas separate the items, without brackets)')
    })

    it('reads a PEM whose line ends are written as \\n', async () => {
      const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      const pem = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
      const apple = { kind: 'apple', clientId: 'us', teamId: 'A1B2C3D4E5', keyId: 'F6G7H8J9K0', backend: 'cookie' }
      for (const text of [pem, pem.replaceAll('\n', '\\n'), pem.replaceAll('\n', '\\r\\n')]) {
        const env = { PORTCULLIS_PROVIDERS__APPLE__PRIVATE_KEY: text }
        const { settings } = await folder.load({ providers: { apple } }, env)
        expect(settings.providers.apple).to.include({ privateKey: pem })
      }
    })

    it('ignores an empty variable', async () => {
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
    it('reads them without the last newline', async () => {
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

    it('reads one former secret from each line of a file', async () => {
      const [one, other] = [`one, ${goodSecret}`, `other ${goodSecret}`]
      await folder.write('former', `${one}\n\n${other}\n`)
      const { settings } = await folder.load({}, { PORTCULLIS_FORMER_SECRETS_FILE: 'former' })
      expect(settings.formerSecrets).to.deep.equal([one, other])
      const listed = await folder.load({}, { PORTCULLIS_FORMER_SECRETS: `${other},${goodSecret}` })
      expect(listed.settings.formerSecrets).to.deep.equal([other, goodSecret])
      const faults = await folder.faults({}, { PORTCULLIS_FORMER_SECRETS: `${other},short` })
      expect(faults).to.deep.equal([
        {
          path: 'formerSecrets',
          message: 'item 2 must have at least 32 bytes, but has 5',
          source: 'environment PORTCULLIS_FORMER_SECRETS',
        },
      ])
    })

    it('reads addresses of stores from files, too', async () => {
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

    it('reads no other settings from files', async () => {
      const faults = await folder.faults({}, { PORTCULLIS_HTTP__PORT_FILE: 'port' })
      expect(faults.map(({ path }) => path)).to.deep.equal(['http.port'])
    })
  })

  describe('names', () => {
    it('matches an entry of the file in any case of letters, and otherwise adds an entry in lower case', async () => {
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

    it('adds an entry even if an object inherits a member of this name', async () => {
      const env = {
        PORTCULLIS_BACKENDS__CONSTRUCTOR__TRANSPORT__KIND: 'bearer',
        PORTCULLIS_BACKENDS__CONSTRUCTOR__STRATEGY__KIND: 'jwt',
      }
      const { settings } = await folder.load({ backends: {} }, env)
      expect(Object.keys(settings.backends)).to.deep.equal(['jwt', 'cookie', 'constructor'])
    })

    it('refuses unknown names with __, and suggests the nearest name', async () => {
      for (const [variable, meant] of [
        ['PORTCULLIS_HTTP__PROT', 'PORTCULLIS_HTTP__PORT'],
        ['PORTCULLIS_HTPP__PORT', 'PORTCULLIS_HTTP__PORT'],
        ['PORTCULLIS_STORES__USER__KIND', 'PORTCULLIS_STORES__USERS__KIND'],
        ['PORTCULLIS_BACKENDS__JWT__REQUIRE_VERIFICATION', 'PORTCULLIS_BACKENDS__JWT__REQUIRES_VERIFICATION'],
        ['PORTCULLIS_PASSWORD__MIN_LENGHT', 'PORTCULLIS_PASSWORDS__MIN_LENGTH'],
      ] as const) {
        const [fault, ...others] = await folder.faults({}, { [variable]: '1' })
        expect(fault?.message).to.equal(`no such setting; did you mean ${meant}?`)
        expect(fault?.source).to.equal(`environment ${variable}`)
        expect(others).to.deep.equal([])
      }
    })

    it('names a variable of the group that an unknown name is', async () => {
      for (const [group, longer] of [
        ['PROVIDERS', 'PROVIDERS__<NAME>__KIND'],
        ['PROVIDERS__', 'PROVIDERS__<NAME>__KIND'],
        ['PROVIDERS__GOOGLE', 'PROVIDERS__GOOGLE__KIND'],
        ['HTTP', 'HTTP__HOST'],
        ['STORES__USERS', 'STORES__USERS__KIND'],
      ]) {
        const variable = `PORTCULLIS_${group}`
        const message = `no such setting; the variables of this group have longer names, such as PORTCULLIS_${longer}`
        if (variable.includes('__')) {
          const faults = await folder.faults({}, { [variable]: 'x' })
          expect(faults.map((one) => one.message)).to.deep.equal([message])
        } else {
          const { warnings } = await folder.load({}, { [variable]: 'x' })
          expect(warnings).to.deep.equal([`${variable} is ignored: ${message}`])
        }
      }
    })

    it('suggests no name with empty parts', async () => {
      for (const name of ['PROVIDER', 'PROVIDERS_URL', 'BACKEND', 'TENANT', 'PROVIDERS____URL', 'BACKENDS____KIND']) {
        const variable = `PORTCULLIS_${name}`
        const messages = variable.includes('__')
          ? (await folder.faults({}, { [variable]: 'x' })).map((one) => one.message)
          : (await folder.load({}, { [variable]: 'x' })).warnings
        expect(messages.join().replace(variable, ''), name).to.include('no such setting').and.not.match(/____/)
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

    it('warns of unknown names without __, which Kubernetes may have set', async () => {
      const env = { PORTCULLIS_SERVICE_HOST: '10.0.0.1', PORTCULLIS_HTTP_PORT: '80', OTHER__NAME: 'x' }
      const { settings, warnings } = await folder.load({}, env)
      expect(settings.http.port).to.equal(3000)
      expect(warnings).to.deep.equal([
        'PORTCULLIS_SERVICE_HOST is ignored: no such setting',
        'PORTCULLIS_HTTP_PORT is ignored: no such setting; did you mean PORTCULLIS_HTTP__PORT?',
      ])
    })
  })

  it('reads the variable of every setting', async () => {
    const settings = leavesOf(settingsSchema).filter(({ path, schema }) => {
      return !path.includes('*') && !annotations(schema).byEntry
    })
    const env = Object.fromEntries(settings.map(({ path }) => [variableOf(path), 'nonsense']))
    const faults = await folder.faults({}, env)
    expect(faults.filter(({ message }) => message.startsWith('no such setting'))).to.deep.equal([])
  })
})
