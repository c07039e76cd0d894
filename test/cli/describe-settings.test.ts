import { expect } from 'chai'
import { renderVariables } from '../../src/cli/describe-settings.ts'
import { settingsSchema } from '../../src/config/settings/schema/schema.ts'
import { leavesOf } from '../../src/config/settings/schema/tree.ts'

describe('describing the settings', () => {
  it('has a description of every setting', () => {
    const silent = leavesOf(settingsSchema).filter(({ schema }) => !('description' in schema))
    expect(silent.map(({ path }) => path.join('.'))).to.deep.equal([])
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
