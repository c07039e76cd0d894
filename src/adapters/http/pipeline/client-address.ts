import type { IncomingMessage } from 'node:http'
import { BlockList, isIP, type Socket, SocketAddress } from 'node:net'
import { networksOf } from '../../../domain/client-networks.ts'
import { isLoopback } from '../../../lib/loopback.ts'
import { Unreadable } from '../errors.ts'

/** A client is an IPv4 address or an IPv6 /64, the smallest network of a subscriber. `null`: unknown. */
export type ClientOf = (request: Request) => string | null

type Request = Pick<IncomingMessage, 'headers' | 'socket'>

/**
 * @param trustedProxies addresses and subnets of proxies, whose `X-Forwarded-For` names the client. Without this setting,
 *   requests from loopback have no client: behind a proxy on this machine, all users would count as one.
 */
export function clientAddresses(trustedProxies: readonly string[] | undefined): ClientOf {
  const addressOf = addresses(trustedProxies ?? [])
  /** Of each connection, so that its address is parsed once. */
  const clients = new WeakMap<Socket, string | null>()

  function clientAt(request: Request): string | null {
    const address = addressOf(request)
    const client = isLoopback(address.address) ? null : clientOf(address)
    clients.set(request.socket, client)
    return client
  }

  return (request) => {
    if (trustedProxies !== undefined) return clientOf(addressOf(request))
    const known = clients.get(request.socket)
    return known === undefined ? clientAt(request) : known
  }
}

/**
 * Tells whether the client of a request has one of these addresses or subnets. An empty list admits all. A request for which a
 * trusted proxy names no address may come from anybody, so a list does not admit it, even if it has the address of the proxy.
 *
 * @param trustedProxies as in `clientAddresses`; without it, the client is the peer of the connection
 */
export function admitting(
  subnets: readonly string[],
  trustedProxies: readonly string[] | undefined,
): (request: Request) => boolean {
  if (subnets.length === 0) return () => true
  const [listed, addressOf] = [blockListOf(subnets), addresses(trustedProxies ?? [])]
  return (request) => {
    const { address, version, isNamed } = addressOf(request)
    return isNamed && listed.check(address, `ipv${version}`)
  }
}

function blockListOf(subnets: readonly string[]): BlockList {
  const list = new BlockList()
  for (const text of subnets) {
    const subnet = parseSubnet(text)
    if (subnet !== null) list.addSubnet(subnet.address, subnet.length, `ipv${subnet.version}`)
  }
  return list
}

interface ClientAddress extends Address {
  /** Whether it is no trusted proxy that names no client. */
  readonly isNamed: boolean
}

/**
 * The peer of the connection, or what trusted proxies name in its place. The clients that a proxy does not name count as one, by
 * the address of the proxy: without a client, they would have no limits.
 */
function addresses(trustedProxies: readonly string[]): (request: Request) => ClientAddress {
  const trusted = blockListOf(trustedProxies)
  const peers = new WeakMap<Socket, ClientAddress>()

  function peerAt(socket: Socket): ClientAddress {
    const peer = { ...peerOf(socket), isNamed: true }
    peers.set(socket, peer)
    return peer
  }

  return ({ headers, socket }) => {
    let client = peers.get(socket) ?? peerAt(socket)
    if (trustedProxies.length === 0) return client
    const forwarded = String(headers['x-forwarded-for'] ?? '').split(',') // Node joins several headers by commas
    let isFirst = false
    while (!isFirst && trusted.check(client.address, `ipv${client.version}`)) {
      const next = parseAddress(forwarded.pop() ?? '')
      if (next === null) return { ...client, isNamed: false }
      isFirst = forwarded.length === 0
      client = { ...next, isNamed: true }
    }
    return client
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
