import { expect } from 'chai'
import { publicUrl } from '../../src/config/tenancy/addressing.ts'
import { isLoopback, leadsToLoopback } from '../../src/lib/loopback.ts'
import { SettingsFolder } from '../support/settings.ts'

describe('the public URL', () => {
  const folder = new SettingsFolder()
  beforeEach(() => folder.open())
  afterEach(() => folder.remove())

  it('is localhost on the port that was taken, unless one is given', async () => {
    expect(publicUrl((await folder.load()).settings, 40_123)).to.equal('http://localhost:40123')
    const { settings } = await folder.load({ http: { publicUrl: 'https://accounts.example.com' } })
    expect(publicUrl(settings, 40_123)).to.equal('https://accounts.example.com')
  })

  for (const [host, expected] of [
    ['127.0.0.1', 'localhost'],
    ['localhost', 'localhost'],
    ['::1', 'localhost'],
    ['127.0.0.2', '127.0.0.2'],
  ] as const) {
    it(`leads to where the service listens: with ${host} to ${expected}`, async () => {
      expect(publicUrl((await folder.load({ http: { host } })).settings, 3000)).to.equal(`http://${expected}:3000`)
    })
  }

  it('knows loopback addresses', () => {
    for (const host of ['localhost', 'LOCALHOST', '127.0.0.1', '127.8.9.10', '::1', '0:0:0:0:0:0:0:1']) {
      expect(isLoopback(host), host).to.equal(true)
    }
    for (const host of [
      '0.0.0.0',
      '::',
      '10.0.0.1',
      '128.0.0.1',
      '::2',
      'localhost.example.com',
      '127.0.0.1.example.com',
    ]) {
      expect(isLoopback(host), host).to.equal(false)
    }
  })

  it('knows a URL that leads to loopback, whose host may have brackets', () => {
    for (const url of [
      'http://localhost:3000/x',
      'https://127.0.0.1',
      'http://[::1]:3000',
      'http://acme.localhost:3000',
    ]) {
      expect(leadsToLoopback(new URL(url)), url).to.equal(true)
    }
    for (const url of ['http://example.com', 'http://[::2]', 'http://localhost.example.com', 'http://mylocalhost']) {
      expect(leadsToLoopback(new URL(url)), url).to.equal(false)
    }
  })
})
