import { expect } from 'chai'
import { largestNetworkOf, networksOf } from '../../src/domain/client-networks.ts'

const namesOf = (client: string) => networksOf(client).map(({ name }) => name)

describe('the networks of a client', () => {
  it('are a /64, a /56 and a /48 of IPv6, which count as 1, 4 and 16 clients', () => {
    expect(networksOf('2001:db8:1:a2b3::/64')).to.deep.equal([
      { name: '2001:db8:1:a2b3::/64', multiple: 1 },
      { name: '2001:db8:1:a200::/56', multiple: 4 },
      { name: '2001:db8:1::/48', multiple: 16 },
    ])
  })

  it('are one address of IPv4, also if it is written as IPv6', () => {
    for (const client of ['192.0.2.1', '::ffff:192.0.2.1', '::FFFF:192.0.2.1']) {
      expect(networksOf(client), client).to.deep.equal([{ name: '192.0.2.1', multiple: 1 }])
    }
  })

  it('are the same in every spelling', () => {
    const spellings = [
      '2001:db8:0:b::/64',
      '2001:DB8:0:B::1',
      '2001:0db8:0000:000b:1:2:3:4',
      '2001:db8::b:0:0:0:1%eth0',
    ]
    for (const client of [...spellings, '2001:db8:0:b:1:2:192.0.2.1']) {
      expect(namesOf(client), client).to.deep.equal(['2001:db8:0:b::/64', '2001:db8::/56', '2001:db8::/48'])
    }
    expect(namesOf('::1')).to.deep.equal(['::/64', '::/56', '::/48'])
  })

  it('are the text itself if it is no address', () => {
    for (const client of ['', 'client 7', 'user:ada']) expect(namesOf(client)).to.deep.equal([client])
  })

  it('are at most an IPv4 address or an IPv6 /48', () => {
    expect(['192.0.2.1', '2001:db8:1:a2b3::/64'].map(largestNetworkOf)).to.deep.equal(['192.0.2.1', '2001:db8:1::/48'])
  })
})
