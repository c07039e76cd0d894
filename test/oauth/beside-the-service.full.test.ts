import { expect } from 'chai'
import { openPortcullis, type Portcullis, type PortcullisSettings, type UserId } from '../../src/index.ts'
import { type Acme, aPerson, startAcme } from '../support/acme.ts'
import { call } from '../support/client.ts'
import { invalidGrant } from '../support/fake-provider.ts'
import { Browser, tokenOf } from '../support/oauth-browser.ts'
import { startTestService, type TestService } from '../support/service.ts'

describe('a program beside the service', () => {
  let acme: Acme
  let service: TestService
  let program: Portcullis

  before(async () => {
    acme = await startAcme()
    acme.token.expires_in = 30
    service = await startTestService(acme.env())
    const settings = {
      dataFolder: service.dataFolder,
      logs: { level: 'silent' },
      providers: { gone: { kind: 'github', enabled: false, clientId: 'gone', clientSecret: 'gone' } },
    } satisfies PortcullisSettings
    program = await openPortcullis(settings, { env: acme.env(), delivers: false })
  })
  after(async () => {
    await program?.close()
    await service?.stop()
    await acme?.close()
  })

  /** Somebody signs in; answers how the program reads what they gave the service. */
  async function newcomer(): Promise<() => Promise<string | null>> {
    const bearer = tokenOf(await new Browser(service.url).travel(acme, aPerson()))
    const { id } = (await call(service.url, 'GET', '/users/me', { bearer })).body as { id: UserId } // safe: it is ours
    const { providers, readProviderToken, readUser } = program.accounts
    const provider = providers.get('acme')
    const [account] = (await readUser.execute(id))?.oauthAccounts ?? []
    if (provider === undefined || account === undefined) throw new Error('there is no provider, or no account')
    return () => readProviderToken.execute({ userId: id, provider, accountId: account.accountId })
  }

  it('has the providers that are enabled, and refreshes tokens that the service stored', async () => {
    expect([...program.accounts.providers.keys()]).to.deep.equal(['acme'])
    const before = acme.exchanges().length
    const read = await newcomer()
    expect(await read()).to.equal(acme.tokens.filter((token) => token.includes('-access-')).at(-1))
    const grants = acme.exchanges().slice(before)
    expect(grants.map(({ form }) => form.get('grant_type'))).to.deep.equal(['authorization_code', 'refresh_token'])
  })

  it('gets no token that the provider refuses to refresh', async () => {
    const read = await newcomer()
    acme.instead('token', invalidGrant)
    expect(await read()).to.equal(null)
  })
})
