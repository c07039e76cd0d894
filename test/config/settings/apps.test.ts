import { expect } from 'chai'
import { settingsFolder } from '../../support/services/settings.ts'

const web = { redirectUris: ['https://web.example/cb'], backend: 'jwt' }

describe('the settings of apps', () => {
  const folder = settingsFolder()
  const pathsOf = async (file: object) => (await folder.faults(file)).map(({ path }) => path)

  it('permit https, loopback and the schemes of apps', async () => {
    const redirectUris = [
      'https://web.example/cb?a=1',
      'https://web.example',
      'http://127.0.0.1/cb',
      'http://127.0.0.1:5173/cb',
      'http://[::1]:5173/cb',
      'http://localhost:5173/cb',
      'com.example.app:/cb',
      'com.example.app://cb',
    ]
    expect(await folder.faults({ apps: { 'web-2': { ...web, redirectUris } } })).to.deep.equal([])
  })

  for (const address of [
    '',
    'web.example/cb',
    '/cb',
    '//web.example/cb',
    'https://',
    'https://*.web.example/cb',
    'https://web.example/*',
    'https://web.example/cb#',
    'https://web.example/cb#a',
    'https://ada@web.example/cb',
    'https://web.example\\cb',
    'https://web.example/c b',
    'https://wéb.example/cb',
    'http://web.example/cb',
    'http://127.0.0.1.web.example/cb',
    'http://127.0.0.1@web.example/cb',
    'http:127.0.0.1/cb',
    'http://10.0.0.1/cb',
    'javascript:alert(1)',
    'JavaScript:alert(1)',
    'data:text/html,x',
    'file:///etc/passwd',
    'blob:https://web.example/1',
    'myapp://cb',
    'COM.example.app:/cb',
    'com.example.app:',
  ]) {
    it(`refuse the address ${JSON.stringify(address)}`, async () => {
      expect(await pathsOf({ apps: { web: { ...web, redirectUris: [address] } } })).to.deep.equal([
        'apps.web.redirectUris',
      ])
    })
  }

  it('need an address and a backend with the transport bearer', async () => {
    expect(await pathsOf({ apps: { web: { ...web, redirectUris: [] } } })).to.deep.equal(['apps.web.redirectUris'])
    expect(await pathsOf({ apps: { web: { redirectUris: web.redirectUris } } })).to.deep.equal(['apps.web.backend'])
    for (const backend of ['cookie', 'other', '__proto__']) {
      const [fault, ...others] = await folder.faults({ apps: { web: { ...web, backend } } })
      expect([fault?.path, others]).to.deep.equal(['apps.web.backend', []])
      expect(fault?.message).to.equal('must be the name of an enabled backend with the transport bearer')
      expect(fault?.source).to.equal(folder.source())
    }
    const off = { backends: { jwt: { enabled: false } }, apps: { web } }
    expect(await pathsOf(off)).to.deep.equal(['apps.web.backend'])
  })

  it('need the account pages, and a name that no backend has', async () => {
    expect(await pathsOf({ pages: { enabled: false }, apps: { web } })).to.deep.equal(['apps.web'])
    expect(await pathsOf({ apps: { jwt: web } })).to.deep.equal(['apps.jwt'])
    expect(await pathsOf({ apps: { 'Web App': web } })).to.deep.equal(['apps.Web App'])
    const off = { ...web, enabled: false, backend: 'other' }
    expect(await pathsOf({ pages: { enabled: false }, apps: { web: off } })).to.deep.equal([])
  })

  it('come from the environment, too', async () => {
    const env = {
      PORTCULLIS_APPS__WEB__REDIRECT_URIS: 'https://web.example/cb,com.example.app:/cb',
      PORTCULLIS_APPS__WEB__BACKEND: 'jwt',
    }
    const { settings } = await folder.load({}, env)
    expect(settings.apps).to.deep.equal({
      web: { enabled: true, redirectUris: ['https://web.example/cb', 'com.example.app:/cb'], backend: 'jwt' },
    })
  })

  it('of a tenant are its own, beside those of the service', async () => {
    const shop = { redirectUris: ['https://shop.example/cb'], backend: 'jwt' }
    const file = { apps: { web }, tenants: { by: 'path', list: { acme: { apps: { web: { enabled: false }, shop } } } } }
    const { tenants } = await folder.load(file)
    const apps = tenants.enabled.get('acme')?.settings.apps
    expect(apps).to.deep.equal({ web: { ...web, enabled: false }, shop: { ...shop, enabled: true } })
    const wrong = {
      ...file,
      tenants: { by: 'path', list: { acme: { apps: { shop: { ...shop, backend: 'cookie' } } } } },
    }
    const [fault] = (await folder.load(wrong)).tenants.disabled.get('acme') ?? []
    expect(fault?.path).to.equal('tenants.list.acme.apps.shop.backend')
  })
})
