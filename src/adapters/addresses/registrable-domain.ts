/**
 * The registrable domain of a host name, which browsers count as one site (RFC 6265bis section 5.2); `null` for an IP address
 * and for a name without one, such as `localhost`. Loads the public suffix list at the first call.
 */
export async function registrableDomain(hostname: string): Promise<string | null> {
  const { getDomain } = await import('tldts')
  return getDomain(hostname, { allowPrivateDomains: true })
}

/**
 * Whether browsers count two origins as one site: the same scheme and the same registrable domain (RFC 6265bis section 5.2).
 * Loads the list of public suffixes only when the hosts differ.
 */
export async function areSameSite(one: URL, other: URL): Promise<boolean> {
  if (one.protocol !== other.protocol) return false
  if (one.hostname === other.hostname) return true
  const domain = await registrableDomain(one.hostname)
  return domain !== null && domain === (await registrableDomain(other.hostname))
}
