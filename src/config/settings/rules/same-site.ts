/**
 * Whether browsers count two origins as one site: the same scheme and the same registrable domain (RFC 6265bis section 5.2).
 * Loads the list of public suffixes only when the hosts differ.
 */
export async function areSameSite(one: URL, other: URL): Promise<boolean> {
  if (one.protocol !== other.protocol) return false
  if (one.hostname === other.hostname) return true
  const { getDomain } = await import('tldts')
  const domainOf = ({ hostname }: URL) => getDomain(hostname, { allowPrivateDomains: true })
  const domain = domainOf(one)
  return domain !== null && domain === domainOf(other)
}
