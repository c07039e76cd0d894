import { expect } from 'chai'
import { publicUrl } from '../../../src/config/settings/tenants.ts'
import { isLoopback, leadsToLoopback } from '../../../src/lib/loopback.ts'
import { settingsFolder } from '../../support/services/settings.ts'

describe('the public URL', () => {
  const folder = settingsFolder()

  it('is localhost with the port of the service, unless the settings name one', async () => {
    expect(publicUrl((await folder.load()).settings, 40_123)).to.equal('http://localhost:40123')
    const { settings } = await folder.load({ http: { publicUrl: 'https://accounts.example.com' } })
    expect(publicUrl(settings, 40_123)).to.equal('https://accounts.example.com')
  })

  it('has the host on which the service listens', async () => {
    for (const [host, expected] of [
      ['::1', 'localhost'],
      ['127.0.0.2', '127.0.0.2'],
    ] as const) {
      expect(publicUrl((await folder.load({ http: { host } })).settings, 3000)).to.equal(`http://${expected}:3000`)
    }
  })

  it('distinguishes loopback hosts from others', () => {
    const loopback = ['localhost', 'LOCALHOST', '127.0.0.1', '127.8.9.10', '::1', '0:0:0:0:0:0:0:1']
    const others = ['0.0.0.0', '::', '10.0.0.1', '128.0.0.1', '::2', 'localhost.example.com', '127.0.0.1.example.com']
    expect([...loopback, ...others].filter(isLoopback)).to.deep.equal(loopback)
  })

  it('distinguishes URLs on loopback from others', () => {
    const loopback = ['http://localhost:3000/x', 'https://127.0.0.1', 'http://[::1]:3000', 'http://acme.localhost:3000']
    const others = ['http://example.com', 'http://[::2]', 'http://localhost.example.com', 'http://mylocalhost']
    expect([...loopback, ...others].filter((url) => leadsToLoopback(new URL(url)))).to.deep.equal(loopback)
  })
})
