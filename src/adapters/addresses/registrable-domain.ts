/**
 * The registrable domain of a host name, which browsers count as one site (RFC 6265bis section 5.2); `null` for an IP address
 * and for a name without one, such as `localhost`. Loads the public suffix list at the first call.
 */
export async function registrableDomain(hostname: string): Promise<string | null> {
  const { getDomain } = await import('tldts')
  return getDomain(hostname, { allowPrivateDomains: true })
}
