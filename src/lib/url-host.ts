/** A host name or an IP address as a URL has it: an IPv6 address in brackets (RFC 3986 section 3.2.2). */
export function urlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}
