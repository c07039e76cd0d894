import { expect } from 'chai'
import { openPortcullis, type Portcullis, type PortcullisSettings, type UserId } from '../../src/index.ts'
import { call } from '../support/http/client.ts'
import { type Acme, aPerson, startAcme } from '../support/providers/acme.ts'
import { Browser, tokenOf } from '../support/providers/oauth-browser.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

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

  it('knows the enabled providers, and refreshes tokens that the service stored', async () => {
    const bearer = tokenOf(await new Browser(service.url).travel(acme, aPerson()))
    const { id } = (await call(service.url, 'GET', '/users/me', { bearer })).body as { id: UserId } // safe: it is ours
    const { providers, readProviderToken, readUser } = program.accounts
    expect([...providers.keys()]).to.deep.equal(['acme'])
    const provider = providers.get('acme')
    const [account] = (await readUser.execute(id))?.oauthAccounts ?? []
    if (provider === undefined || account === undefined) throw new Error('there is no provider, or no account')

    const token = await readProviderToken.execute({ userId: id, provider, accountId: account.accountId })
    expect(token).to.equal(acme.tokens.filter((one) => one.includes('-access-')).at(-1))
    const grants = acme.exchanges().map(({ form }) => form.get('grant_type'))
    expect(grants).to.deep.equal(['authorization_code', 'refresh_token'])
  })
})
