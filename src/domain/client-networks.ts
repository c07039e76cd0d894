/** A network of a client, and the number of clients for which it counts. */
export interface ClientNetwork {
  readonly name: string
  readonly multiple: number
}

/**
 * The networks by which a client is limited, the smallest first. IPv4: the address. IPv6: its /64, and also its /56 and /48,
 * because one subscriber may have any of them (RFC 6177). These count as 4 and 16 clients, because a campus shares a /48.
 *
 * @param client an address, or an IPv6 prefix of at least 64 bits, in any spelling
 */
export function networksOf(client: string): readonly ClientNetwork[] {
  const unmapped = client.replace(/^::ffff:(?=[\d.]+$)/i, '') // IPv4 that is written as IPv6
  const [, address] = /^([\da-f.]*:[\da-f:.]*)(?:[/%].*)?$/i.exec(unmapped) ?? []
  if (address === undefined) return [{ name: unmapped, multiple: 1 }]
  const [first = 0, second = 0, third = 0, fourth = 0] = groupsOf(address)
  return [
    { name: prefixOf(64, [first, second, third, fourth]), multiple: 1 },
    { name: prefixOf(56, [first, second, third, fourth & 0xff00]), multiple: 4 },
    { name: prefixOf(48, [first, second, third, 0]), multiple: 16 },
  ]
}

/** The network that takes turns and has one share of what all clients use: an IPv4 address or an IPv6 /48. */
export function largestNetworkOf(client: string): string {
  return networksOf(client).at(-1)?.name ?? client
}

/** The groups of 16 bits. */
function groupsOf(address: string): readonly number[] {
  const [left = [], right = []] = address.split('::').map((half) => half.split(':').filter((group) => group !== ''))
  const zeros = Array<string>(Math.max(0, 8 - left.length - right.length)).fill('0')
  return [...left, ...zeros, ...right].map((group) => Number.parseInt(group, 16))
}

/** The spelling of RFC 5952. The last 64 bits are zero, so the longest run of zeros is at the end. */
function prefixOf(bits: number, groups: readonly number[]): string {
  const text = groups.map((group) => group.toString(16)).join(':')
  return `${text.replace(/(^|:)0(:0)*$/, '')}::/${bits}`
}
