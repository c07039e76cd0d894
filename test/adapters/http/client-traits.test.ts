import { expect } from 'chai'
import { traitsOf } from '../../../src/adapters/http/pipeline/client-traits.ts'

const known = {
  'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0': ['Firefox', 'Linux'],
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36': [
    'Chrome',
    'Windows',
  ],
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 14_5) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Safari/605.1.15':
    ['Safari', 'macOS'],
  'Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Mobile Safari/537.36':
    ['Chrome', 'Android'],
} as const

describe('the traits of a client', () => {
  it('name browser and system', () => {
    for (const [header, [browser, system]] of Object.entries(known)) {
      expect(traitsOf(null, header), header).to.deep.equal({ network: null, browser, system })
    }
  })

  it('repeat no text of the client, whatever it sends', () => {
    const strange = [
      undefined,
      '',
      'curl/8.5.0',
      'Sign in at https://evil.example/ (now)',
      '<script>alert(1)</script>/1 (x)',
      `${'x'.repeat(600)} Firefox/140.0`,
      'a/'.repeat(8000),
      'Mozilla/5.0 ('.repeat(1200),
    ]
    for (const header of strange) {
      expect(traitsOf(null, header), header).to.deep.equal({ network: null, browser: null, system: null })
    }
  })

  it('shorten an IPv4 address to /24, and the /64 of an IPv6 address to /48', () => {
    for (const [client, network] of [
      ['203.0.113.77', '203.0.113.0/24'],
      ['2001:db8:1:2::/64', '2001:db8:1::/48'],
      ['2001:db8::/64', '2001:db8::/48'],
      ['::/64', '::/48'],
      ['2001:db8:a:b::/64', '2001:db8:a::/48'],
      ['2001:db8:0:b::/64', '2001:db8::/48'],
    ] as const) {
      expect(traitsOf(client).network).to.equal(network)
    }
  })
})
