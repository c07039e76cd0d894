import type { IncomingMessage } from 'node:http'
import { BlockList, isIP, type Socket, SocketAddress } from 'node:net'
import { networksOf } from '../../../domain/client-networks.ts'
import { isLoopback } from '../../../lib/loopback.ts'
import { Unreadable } from '../errors.ts'

/** A client is an IPv4 address or an IPv6 /64, the smallest network of a subscriber. `null`: unknown. */
export type ClientOf = (request: Pick<IncomingMessage, 'headers' | 'socket'>) => string | null

/**
 * @param trustedProxies addresses and subnets of proxies, whose `X-Forwarded-For` names the client. Without this setting,
 *   requests from loopback have no client: behind a proxy on this machine, all users would count as one.
 */
export function clientAddresses(trustedProxies: readonly string[] | undefined): ClientOf {
  const trusted = new BlockList()
  for (const text of trustedProxies ?? []) {
    const subnet = parseSubnet(text)
    if (subnet !== null) trusted.addSubnet(subnet.address, subnet.length, `ipv${subnet.version}`)
  }

  /** Of each connection, so that its address is parsed once. */
  const peers = new WeakMap<Socket, { readonly peer: Address; readonly client: string | null }>()

  function peerAt(socket: Socket) {
    const peer = peerOf(socket)
    const known = { peer, client: isLoopback(peer.address) ? null : clientOf(peer) }
    peers.set(socket, known)
    return known
  }

  return ({ headers, socket }) => {
    const { peer, client: ofPeer } = peers.get(socket) ?? peerAt(socket)
    if (trustedProxies === undefined) return ofPeer
    const forwarded = String(headers['x-forwarded-for'] ?? '').split(',') // Node joins several headers by commas
    let client = peer
    while (trusted.check(client.address, `ipv${client.version}`)) {
      const next = parseAddress(forwarded.pop() ?? '')
      if (next === null) break
      client = next
    }
    return clientOf(client)
  }
}

interface Address {
  readonly address: string
  readonly version: 4 | 6
}

/** A Unix socket leads to this machine. */
const unixSocket: Address = { address: '127.0.0.1', version: 4 }

/**
 * Refuses a request whose client has reset the connection. Nobody gets the answer, but a flood of such requests would evade
 * the limits, because the operating system has forgotten the address.
 */
function peerOf({ remoteAddress, localAddress, destroyed }: Socket): Address {
  const peer = parseAddress(remoteAddress ?? '')
  if (peer !== null) return peer
  if (destroyed || localAddress !== undefined) throw new Unreadable(400, 'Bad Request')
  return unixSocket
}

/** An IPv4 address with or without a port, or an address in brackets with or without one. */
const form = /^(?:\[([^\]]*)\]|(\d+(?:\.\d+){3}))(?::\d+)?$/

/** Reads an address in any spelling of `X-Forwarded-For`. */
function parseAddress(text: string): Address | null {
  const trimmed = text.trim()
  const [, inBrackets, withoutPort] = form.exec(trimmed) ?? []
  const [bare = ''] = (inBrackets ?? withoutPort ?? trimmed).split('%') // the zone of a link-local address
  const version = isIP(bare)
  if (version === 0) return null
  if (version === 4) return { address: bare, version: 4 }
  const { address } = new SocketAddress({ address: bare, family: 'ipv6' })
  const mapped = /^::ffff:([\d.]+)$/.exec(address)?.[1]
  return mapped === undefined ? { address, version: 6 } : { address: mapped, version: 4 }
}

function clientOf({ address, version }: Address): string {
  return version === 4 ? address : (networksOf(address)[0]?.name ?? address)
}

/** Reads an IP address, or a subnet such as 10.0.0.0/8. */
export function parseSubnet(text: string): (Address & { readonly length: number }) | null {
  const [, address = '', length] = /^([\da-f:.]+)(?:\/(\d{1,3}))?$/i.exec(text) ?? []
  const version = isIP(address)
  if (version !== 4 && version !== 6) return null
  const most = version === 4 ? 32 : 128
  const bits = Number(length ?? most)
  return bits > most ? null : { address, version, length: bits }
}
