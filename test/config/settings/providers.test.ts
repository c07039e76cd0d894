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

  it('warn of a claim that never vouches', async () => {
    const entra = { kind: 'microsoft', issuer: undefined }
    for (const [acme, objection] of [
      [{ claims: { email: 'preferred_username' } }, null],
      [{ claims: { email: 'mail', emailVerified: 'mail_verified' } }, null],
      [{ claims: { email: 'preferred_username', emailVerified: 'ok' } }, 'nobody vouches for preferred_username'],
      [{ claims: { email: 'mail', emailVerified: 'email_verified' } }, 'email_verified is about the claim email'],
      [{ ...entra, claims: { emailVerified: 'ok' } }, 'with several tenants, only xms_edov vouches'],
      [{ ...entra, tenant: 'contoso.com', claims: { emailVerified: 'ok' } }, null],
    ] as const) {
      const warning = `providers.acme.claims.emailVerified has no effect: ${objection} (docs/providers.md)`
      expect((await load(acme)).warnings, JSON.stringify(acme)).to.deep.equal(objection === null ? [] : [warning])
    }
  })

  it('warn of OAuth 2.0 without PKCE', async () => {
    const addresses = {
      authorizeUrl: 'https://id.example/a',
      tokenUrl: 'https://id.example/t',
      profileUrl: 'https://id.example/p',
    }
    const plain = { kind: 'oauth2', issuer: undefined, ...addresses }
    expect((await load(plain)).warnings).to.deep.equal([])
    const warning = 'pkce is off: nothing ties a stolen code to its journey (RFC 9700 section 2.1.1)'
    expect((await load({ ...plain, pkce: false })).warnings.join()).to.include(warning)
  })

  it('refuse wrong names of claims, algorithms and addresses of metadata', async () => {
    for (const [acme, fault] of [
      [{ claims: { email: 'a b' } }, 'claims.email: must be the name of a claim'],
      [{ claims: { emailVerified: '' } }, 'claims.emailVerified: must be the name of a claim'],
      [{ claims: { mail: 'x' } }, 'claims.mail: no such setting'],
      [{ pkce: 'no' }, 'pkce: must be true or false'],
      [{ idTokenAlgorithm: 'RS256' }, 'idTokenAlgorithm: must be .*HS256'],
      [{ discoveryUrl: 'https://id.example' }, 'discoveryUrl: must be an https address with /.well-known/'],
      [{ kind: 'google', issuer: undefined, claims: {} }, 'claims: must not be given'],
    ] as const) {
      expect(await faultsOf(acme), JSON.stringify(acme)).to.match(new RegExp(`^providers\\.acme\\.${fault}`))
    }
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
