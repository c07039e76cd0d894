import type { IncomingMessage } from 'node:http'
import { expect } from 'chai'
import { admitting, clientAddresses, parseSubnet } from '../../../src/adapters/http/pipeline/client-address.ts'

const proxies = ['10.0.0.0/8', '2001:db8:ff::/48', '192.0.2.7']

/** A request from this peer. */
function requestOf(peer: string | undefined, forwarded?: string): IncomingMessage {
  const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }
  return { headers, socket: { remoteAddress: peer } } as unknown as IncomingMessage // safe: nothing else of a request is read
}

function clientOf(peer: string | undefined, forwarded?: string, trusted: readonly string[] | null = proxies) {
  return clientAddresses(trusted ?? undefined)(requestOf(peer, forwarded))
}

describe('the client of a request', () => {
  for (const [title, peer, forwarded, client] of [
    ['is the peer', '198.51.100.1', undefined, '198.51.100.1'],
    ['is a peer that is no trusted proxy, whatever it forwards', '198.51.100.1', '203.0.113.5', '198.51.100.1'],
    ['is forwarded by a trusted subnet', '10.1.2.3', '203.0.113.5', '203.0.113.5'],
    ['is forwarded by a trusted address', '192.0.2.7', '203.0.113.5', '203.0.113.5'],
    ['is the peer beside a trusted address', '192.0.2.8', '203.0.113.5', '192.0.2.8'],
    ['is forwarded by a trusted proxy that speaks IPv6', '2001:db8:ff::1', '203.0.113.5', '203.0.113.5'],
    ['is forwarded by a trusted proxy in IPv6 notation', '::ffff:10.1.2.3', '203.0.113.5', '203.0.113.5'],
    ['is the last entry that no trusted proxy made', '10.1.2.3', '1.1.1.1, 203.0.113.5, 10.9.9.9', '203.0.113.5'],
    ['is the first entry, if trusted proxies made all', '10.1.2.3', '10.7.7.7, 10.8.8.8', '10.7.7.7'],
    ['is the proxy that forwards nothing', '10.1.2.3', undefined, '10.1.2.3'],
    ['is the proxy that forwards an empty header', '10.1.2.3', '', '10.1.2.3'],
    ['is the proxy that forwards no address', '10.1.2.3', 'unknown', '10.1.2.3'],
    ['is the last good address', '10.1.2.3', '203.0.113.5, _hidden, 10.8.8.8', '10.8.8.8'],
    ['may have a port', '10.1.2.3', '203.0.113.5:443', '203.0.113.5'],
    ['may be written as IPv6', '10.1.2.3', '::ffff:203.0.113.5', '203.0.113.5'],
    ['may be written as hexadecimal IPv6', '10.1.2.3', '::FFFF:cb00:7105', '203.0.113.5'],
    ['may be IPv4 in brackets with a port', '10.1.2.3', '[::ffff:203.0.113.5]:80', '203.0.113.5'],
    ['may be among white space', '10.1.2.3', ' \t203.0.113.5 \t,\t10.8.8.8 ', '203.0.113.5'],
    ['is not the rest of an empty entry', '10.1.2.3', '203.0.113.5,,10.8.8.8', '10.8.8.8'],
    ['is no address with leading zeros', '10.1.2.3', '203.0.113.05', '10.1.2.3'],
    ['is no address with an unclosed bracket', '10.1.2.3', '[2001:db8::1', '10.1.2.3'],
    ['is an IPv6 /64', '2001:db8:1:2:3:4:5:6', undefined, '2001:db8:1:2::/64'],
    ['is a /64 of a link-local address with a zone', 'fe80::1%eth0', undefined, 'fe80::/64'],
    ['is loopback, once proxies are set', '127.0.0.1', undefined, '127.0.0.1'],
    ['is loopback behind a Unix socket', undefined, undefined, '127.0.0.1'],
  ] as const) {
    it(title, () => {
      expect(clientOf(peer, forwarded)).to.equal(client)
    })
  }

  it('is unknown on loopback if no proxies are set, and known elsewhere', () => {
    const loopback = ['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1', undefined]
    for (const peer of loopback) expect(clientOf(peer, '203.0.113.5', null), `${peer}`).to.equal(null)
    expect(clientOf('198.51.100.1', '203.0.113.5', null)).to.equal('198.51.100.1')
    expect(clientOf('127.0.0.1', '203.0.113.5', [])).to.equal('127.0.0.1')
  })

  it('has not reset the connection', () => {
    for (const socket of [{ localAddress: '10.9.9.9' }, { destroyed: true }]) {
      const request = { headers: {}, socket } as unknown as IncomingMessage // safe: nothing else is read
      for (const trusted of [undefined, proxies])
        expect(() => clientAddresses(trusted)(request)).to.throw('Bad Request')
    }
  })

  it('is one client in any spelling of an address', () => {
    const spellings = [
      '2001:db8:0:1::42',
      '2001:DB8:0:1::42',
      '2001:0db8:0000:0001:0000:0000:0000:0042',
      '2001:db8::1:0:0:0:42',
      '2001:db8:0:1:0:0:0.0.0.66',
      '[2001:db8:0:1::42]',
      '[2001:db8:0:1::42]:443',
      ' 2001:db8:0:1:0::42%eth0 ',
    ]
    const clients = new Set(spellings.map((one) => clientOf('10.1.2.3', one)))
    expect([...clients]).to.deep.equal(['2001:db8:0:1::/64'])
  })

  it('is one client in all addresses of a /64, and another one beside it', () => {
    const hex = (at: number) =>
      Math.imul(at + 1, 2_654_435_761)
        .toString(16)
        .replace('-', '')
    const addresses = Array.from({ length: 1_000 }, (_, at) => {
      const [high = '', low = ''] = [hex(at).slice(0, 4), hex(at).slice(4)]
      return `2001:db8:0:1:${high}:0:${low || 0}:${at.toString(16)}`
    })
    expect(new Set(addresses).size).to.equal(1_000)
    expect([...new Set(addresses.map((one) => clientOf(one)))]).to.deep.equal(['2001:db8:0:1::/64'])
    expect(clientOf('2001:db8:0:2::1')).to.equal('2001:db8:0:2::/64')
  })

  it('is found among a thousand entries', () => {
    const trusted = Array.from({ length: 1_000 }, () => '10.1.1.1').join(',')
    expect(clientOf('10.1.2.3', `203.0.113.5,${trusted}`)).to.equal('203.0.113.5')
    const nonsense = Array.from({ length: 1_000 }, (_, at) => `[${at}]::%/`).join(',')
    expect(clientOf('10.1.2.3', nonsense)).to.equal('10.1.2.3')
  })
})

describe('a list of addresses', () => {
  const isAdmitted = admitting(['10.0.0.0/8', '203.0.113.5'], proxies)

  it('admits a client that the proxies name, also one of the proxies', () => {
    for (const forwarded of ['203.0.113.5', '203.0.113.5, 10.8.8.8', '10.7.7.7', '10.7.7.7, 10.8.8.8'])
      expect(isAdmitted(requestOf('10.1.2.3', forwarded)), forwarded).to.equal(true)
    expect(isAdmitted(requestOf('203.0.113.5'))).to.equal(true)
    expect(isAdmitted(requestOf('10.1.2.3', '203.0.113.6')), 'another').to.equal(false)
  })

  it('does not admit a client that its proxy does not name, in place of the proxy', () => {
    for (const forwarded of [undefined, '', ' ', ',', 'unknown', '_hidden', 'unix:', '10.7.7.7,', '_hidden, 10.8.8.8'])
      expect(isAdmitted(requestOf('10.1.2.3', forwarded)), `${forwarded}`).to.equal(false)
  })
})

describe('a trusted proxy', () => {
  it('is an address or a subnet, and nothing else', () => {
    const good = ['10.0.0.1', '10.0.0.0/8', '0.0.0.0/0', '::1', '2001:db8::/32', '2001:DB8::/128', '::ffff:10.0.0.1']
    const bad = [
      '',
      'localhost',
      '10.0.0.0/33',
      '::/129',
      '10.0.0.0/',
      '10.0.0.0/-1',
      '10.0.0.0/8/8',
      '10.0.0',
      '10.0.0.1:80',
      '[::1]',
      'fe80::1%eth0',
      '*',
      ' 10.0.0.1',
    ]
    expect([...good, ...bad].filter((text) => parseSubnet(text) !== null)).to.deep.equal(good)
  })

  it('may be written as IPv6', () => {
    expect(clientOf('10.1.2.3', '203.0.113.5', ['::ffff:10.1.2.3'])).to.equal('203.0.113.5')
    expect(clientOf('10.1.2.3', '203.0.113.5', ['::ffff:10.0.0.0/104'])).to.equal('203.0.113.5')
  })
})
