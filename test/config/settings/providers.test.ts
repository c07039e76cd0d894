import { expect } from 'chai'
import { settingsFolder } from '../../support/services/settings.ts'

describe('the settings of providers', () => {
  const folder = settingsFolder()
  const client = { clientId: 'us', clientSecret: 'a secret of at least 32 characters', backend: 'cookie' }
  const load = (acme: object) =>
    folder.load({ providers: { acme: { kind: 'openid-connect', issuer: 'https://id.example', ...client, ...acme } } })

  /** Rejects with faults, of which there is one for each line. */
  async function faultsOf(acme: object): Promise<string> {
    return load(acme).then(
      ({ warnings }) => `no fault; ${warnings.join()}`,
      ({ message }: Error) => message.replace(/ \(file [^)]*\)/g, ''),
    )
  }

  it('have a label, by default the name with a capital letter', async () => {
    expect((await load({})).settings.providers.acme).to.deep.include({ label: 'Acme' })
    expect((await load({ label: 'Acme ID' })).settings.providers.acme).to.deep.include({ label: 'Acme ID' })
    expect(await faultsOf({ label: '' })).to.equal('providers.acme.label: must be a name of at most 60 characters')
  })

  it('take an icon from https or from the own origin only', async () => {
    for (const icon of ['https://img.example/a.svg', '/icons/a.svg']) {
      expect((await load({ icon })).warnings, icon).to.deep.equal([])
    }
    const fault = 'providers.acme.icon: must be an https address, or a path of this service such as /icons/acme.svg'
    for (const icon of [
      'http://img.example/a.svg',
      '//img.example/a.svg',
      '/\\img.example',
      'a.svg',
      'data:,',
      '/ a',
    ]) {
      expect(await faultsOf({ icon }), icon).to.equal(fault)
    }
  })
})
