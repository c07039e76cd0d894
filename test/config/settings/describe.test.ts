import { expect } from 'chai'
import { renderSettings, renderVariables } from '../../../src/config/settings/describe.ts'
import { settingsSchema } from '../../../src/config/settings/schema/schema.ts'
import { leavesOf } from '../../../src/config/settings/schema/tree.ts'
import { goodSecret, settingsFolder } from '../../support/settings.ts'

describe('describing the settings', () => {
  const folder = settingsFolder()

  it('has a description of every setting', () => {
    const silent = leavesOf(settingsSchema).filter(({ schema }) => !('description' in schema))
    expect(silent.map(({ path }) => path.join('.'))).to.deep.equal([])
  })

  it('prints each value with its source, and masks secrets', async () => {
    const path = await folder.write(
      'portcullis.config.json',
      JSON.stringify({ http: { allowedOrigins: ['https://a.example'] }, stores: { tokens: { kind: 'redis' } } }),
    )
    const loaded = await folder.load(undefined, {
      PORTCULLIS_SECRET: goodSecret,
      PORTCULLIS_STORES__TOKENS__URL: 'redis://:password@127.0.0.1',
      PORTCULLIS_BACKENDS__COOKIE__ENABLED: 'no',
    })
    const rows = new Map(
      renderSettings(loaded)
        .split('\n')
        .map((line) => line.split(/ {2,}/))
        .map(([setting = '', value, source]) => [setting, [value, source]]),
    )
    expect(rows.get('secret')).to.deep.equal(['[secret]', 'environment PORTCULLIS_SECRET'])
    expect(rows.get('stores.tokens.url')).to.deep.equal(['[secret]', 'environment PORTCULLIS_STORES__TOKENS__URL'])
    expect(rows.get('http.allowedOrigins')).to.deep.equal(['["https://a.example"]', `file ${path}`])
    expect(rows.get('backends.cookie.enabled')).to.deep.equal([
      'false',
      'environment PORTCULLIS_BACKENDS__COOKIE__ENABLED',
    ])
    expect(rows.get('stores.sessions.kind')).to.deep.equal(['"sqlite"', 'default: the kind of the users'])
    expect(rows.get('http.port')).to.deep.equal(['3000', 'default'])
    expect(rows.get('handlers.module')).to.deep.equal(['not set', 'default: none'])
  })

  it('lists every variable once', () => {
    const variables = renderVariables()
      .split('\n')
      .map((line) => line.split(' ')[0])
    expect(variables).to.include.members([
      'PORTCULLIS_CONFIG',
      'PORTCULLIS_DATA_FOLDER',
      'PORTCULLIS_SECRET',
      'PORTCULLIS_SECRET_FILE',
      'PORTCULLIS_HTTP__ALLOWED_ORIGINS',
      'PORTCULLIS_STORES__USERS__URL_FILE',
      'PORTCULLIS_BACKENDS__<NAME>__REQUIRES_VERIFICATION',
      'PORTCULLIS_PASSWORDS__MEMORY_KIB',
    ])
    expect(new Set(variables).size).to.equal(variables.length)
  })
})
