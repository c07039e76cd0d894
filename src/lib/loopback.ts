import { BlockList, isIP } from 'node:net'

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addAddress('::1', 'ipv6')

/** Whether only this machine can reach a server that listens on `host`. */
export function isLoopback(host: string): boolean {
  const version = isIP(host)
  if (version === 0) return host.toLowerCase() === 'localhost'
  return loopback.check(host, version === 4 ? 'ipv4' : 'ipv6')
}

/** Whether browsers open a URL on their own machine, as for names below `localhost` (RFC 6761 section 6.3). */
export function leadsToLoopback({ hostname }: Pick<URL, 'hostname'>): boolean {
  return hostname.endsWith('.localhost') || isLoopback(hostname.replace(/^\[|\]$/g, '')) // a URL keeps IPv6 in brackets
}
