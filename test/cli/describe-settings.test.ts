import { expect } from 'chai'
import { describeSettings, renderSettings, renderVariables } from '../../src/cli/describe-settings.ts'
import { loadSettings } from '../../src/config/settings/load.ts'
import { settingsSchema } from '../../src/config/settings/schema/schema.ts'
import { leavesOf } from '../../src/config/settings/schema/tree.ts'
import { goodSecret } from '../support/services/settings.ts'

describe('describing the settings', () => {
  it('has a description of every setting', () => {
    const silent = leavesOf(settingsSchema).filter(({ schema }) => !('description' in schema))
    expect(silent.map(({ path }) => path.join('.'))).to.deep.equal([])
  })

  it('shows addresses without their secrets', async () => {
    const loaded = await loadSettings({ env: {}, cwd: import.meta.dirname })
    const { settings } = loaded
    const shown = (url: string): unknown => {
      const printed = renderSettings({ ...loaded, settings: { ...settings, mail: { ...settings.mail, url } } })
      return JSON.parse(/^mail\.url +(\S+) /m.exec(printed)?.[1] ?? '')
    }
    const inJson = (url: string): unknown => {
      const described = describeSettings({
        ...loaded,
        settings: { ...settings, secret: goodSecret, mail: { ...settings.mail, url } },
      })
      expect(JSON.stringify(described)).to.not.include(goodSecret)
      return described.find(({ setting }) => setting === 'mail.url')?.value
    }
    for (const [url, expected] of [
      ['off', 'off'],
      ['mailbox:', 'mailbox:'],
      ['file:///srv/mails', 'file:///srv/mails'],
      ['redis://host:6379/1', 'redis://host:6379/1'],
      ['mongodb://one:1,two:2/name', 'mongodb://one:1,two:2/name'],
      ['smtp://me%40a.example:pw@host:587', 'smtp://[secret]@host:587'],
      ['redis://token@host/0?family=6', 'redis://[secret]@host/0?family=[secret]'],
      ['redis://:p?w@x@host', 'redis://[secret]@host'],
      ['smtp:\n//me:pw@host', 'smtp://[secret]@host'],
      ['mongodb+srv://me:pw@host/name?a=b=c&d=e@f', 'mongodb+srv://[secret]@f'],
    ] as const) {
      expect([shown(url), inJson(url)]).to.deep.equal([expected, expected])
    }
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
