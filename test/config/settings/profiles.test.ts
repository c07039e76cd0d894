import { expect } from 'chai'
import { annotations } from '../../../src/config/settings/schema/fields.ts'
import { settingsSchema } from '../../../src/config/settings/schema/schema.ts'
import { leavesOf, valueAt } from '../../../src/config/settings/schema/tree.ts'
import { settingsFolder } from '../../support/services/settings.ts'

const hardened = { security: { profile: 'hardened' } }
/** The settings that the profile sets, in the default backends. */
const leaves = leavesOf(settingsSchema).flatMap(({ path, schema }) => {
  const preset = annotations(schema).hardened
  const name = path.join('.').replace('backends.*', 'backends.cookie')
  return preset === undefined ? [] : [{ name, hardened: preset.value, compatible: annotations(schema).default }]
})

describe('compat.preset', () => {
  const folder = settingsFolder()
  const preset = { compat: { preset: 'fastapi-users' } }

  it('sets the defaults of all its settings, and no other', async () => {
    const values = leavesOf(settingsSchema).flatMap(({ path, schema }) => {
      const { fastapiUsers } = annotations(schema)
      return fastapiUsers === undefined ? [] : [[path.join('.').replace('backends.*', 'backends.cookie'), fastapiUsers]]
    })
    const { settings, sources } = await folder.load(preset)
    const changed = [...sources].filter(([, source]) => source === 'preset fastapi-users').map(([path]) => path)
    expect(changed.map((path) => [path, valueAt(settings, path)])).to.have.deep.members(values)
    expect(changed).to.have.members([
      'backends.cookie.transport.name',
      'users.reportsUnchanged',
      'users.search',
      'compat.nullBodies',
      'compat.plainReasons',
      'compat.stateCodes',
      'compat.documentNames',
    ])
  })

  it('yields to a given setting, goes with a profile, and may differ between tenants', async () => {
    const list = { acme: {}, bolt: { compat: { preset: 'none' } }, dyne: { compat: { nullBodies: false } } }
    const file = { ...preset, ...hardened, tenants: { by: 'path', list }, secret: 'a'.repeat(40) }
    const { tenants } = await folder.load(file, { PORTCULLIS_COMPAT__STATE_CODES: 'false' })
    const of = [...tenants.enabled].map(
      ([
        id,
        {
          settings: { compat, passwords },
        },
      ]) => {
        return [id, compat.nullBodies, compat.plainReasons, compat.stateCodes, passwords.minLength]
      },
    )
    expect(of).to.deep.equal([
      ['acme', true, true, false, 15],
      ['bolt', false, false, false, 15],
      ['dyne', false, true, false, 15],
    ])
  })
})

describe('security.profile', () => {
  const folder = settingsFolder()

  it('sets the defaults of all its settings together', async () => {
    expect(leaves.map(({ name }) => name)).to.include.members([
      'security.confirmEmailChange',
      'security.freshLoginSeconds',
      'verification.requiresSession',
      'passwords.minLength',
      'backends.cookie.strategy.idleSeconds',
    ])
    for (const [profile, file] of [
      ['compatible', {}],
      ['compatible', { security: { profile: 'compatible' } }],
      ['hardened', hardened],
    ] as const) {
      const { settings } = await folder.load(file)
      for (const leaf of leaves) expect(valueAt(settings, leaf.name), leaf.name).to.equal(leaf[profile])
    }
  })

  it('leaves every given setting, also one that is equal to the other default', async () => {
    const file = { ...hardened, passwords: { minLength: 8 }, backends: { cookie: { strategy: { idleSeconds: 60 } } } }
    const { settings, sources } = await folder.load(file, { PORTCULLIS_DOCS__ENABLED: 'true' })
    expect(settings.passwords.minLength).to.equal(8)
    expect(settings.docs.enabled).to.equal(true)
    expect(settings.backends.cookie?.strategy).to.include({ idleSeconds: 60, lifetimeSeconds: 86_400 })
    expect(sources.get('passwords.minLength')).to.equal(folder.source())
    expect(sources.get('security.freshLoginSeconds')).to.equal('profile hardened')
    expect(sources.get('http.port')).to.equal('default')
  })

  it('demands a second factor of superusers, and says so until the setting is given', async () => {
    const { settings, warnings } = await folder.load(hardened)
    expect(settings.security.secondFactor).to.equal('superusers')
    expect(settings.routers.factors.enabled).to.equal(true)
    expect(warnings.filter((line) => line.startsWith('security.secondFactor'))).to.have.length(1)
    const given = await folder.load({ security: { profile: 'hardened', secondFactor: 'superusers' } })
    expect(given.warnings.join()).to.not.include('security.secondFactor')
    const off = { routers: { factors: { enabled: false } } }
    for (const file of [{ ...hardened, ...off }, { security: { secondFactor: 'required' } }]) {
      const [fault] = await folder.faults(file)
      expect(fault).to.deep.include({ path: 'security.secondFactor' })
      expect(fault?.message).to.match(/: set routers\.factors\.enabled to true$/)
    }
  })

  it('is taken from the environment before the file', async () => {
    const { settings } = await folder.load(hardened, { PORTCULLIS_SECURITY__PROFILE: 'compatible' })
    expect(settings.passwords.minLength).to.equal(8)
    const other = await folder.load({}, { PORTCULLIS_SECURITY__PROFILE: 'hardened' })
    expect(other.settings.passwords.minLength).to.equal(15)
  })

  it('refuses other names, and names itself as the source of a fault', async () => {
    const [fault] = await folder.faults({ security: { profile: 'hard' } })
    expect(fault).to.deep.include({ path: 'security.profile', source: folder.source() })
    const strict = { requiresVerification: true }
    const faults = await folder.faults({ ...hardened, backends: { jwt: strict, cookie: strict } })
    expect(faults.map(({ path, source }) => [path, source])).to.deep.equal([
      ['verification.requiresSession', 'profile hardened'],
    ])
  })

  it('may differ between tenants', async () => {
    const list = { acme: {}, bolt: { security: { profile: 'compatible' } }, dyne: { passwords: { minLength: 9 } } }
    const { tenants } = await folder.load({ ...hardened, tenants: { by: 'path', list }, secret: 'a'.repeat(40) })
    const lengths = [...tenants.enabled].map(([id, { settings }]) => [id, settings.passwords.minLength])
    expect(lengths).to.deep.equal([
      ['acme', 15],
      ['bolt', 8],
      ['dyne', 9],
    ])
    expect(tenants.enabled.get('bolt')?.settings.security.confirmEmailChange).to.equal(false)
  })

  it('is recommended once where the service is public, unless it is given', async () => {
    const warned = async (publicUrl: string, security = {}) => {
      const { warnings } = await folder.load({ http: { publicUrl, trustedProxies: [] }, security })
      return warnings.filter((one) => one.startsWith('security.profile'))
    }
    expect(await warned('https://accounts.example.com')).to.deep.equal([
      'security.profile is not set: hardened is recommended for a public service (docs/configuration.md#profiles), compatible keeps the present defaults',
    ])
    expect(await warned('https://accounts.example.com', { profile: 'compatible' })).to.deep.equal([])
    expect(await warned('https://accounts.example.com', { profile: 'hardened' })).to.deep.equal([])
    expect(await warned('http://localhost:3000')).to.deep.equal([])
  })

  it('warns if no route can confirm a new address', async () => {
    const security = { profile: 'hardened', secondFactor: 'superusers' }
    const { warnings } = await folder.load({ security, routers: { verify: { enabled: false } } })
    expect(warnings).to.deep.equal([
      'security.confirmEmailChange is on, and the router verify is off: no route confirms a new address',
    ])
  })
})
