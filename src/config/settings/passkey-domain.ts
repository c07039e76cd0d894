import { isIP } from 'node:net'

/**
 * The domain of passkeys (RP ID): that of the settings, or the host of the public URL. `null` where browsers allow no passkeys: on
 * pages without TLS, except at `localhost`, and at an IP address (WebAuthn Level 3 section 5.1.3).
 */
export function passkeyDomain(domain: string | undefined, publicUrl: string): string | null {
  const { protocol, hostname } = new URL(publicUrl)
  const isSecure = protocol === 'https:' || hostname === 'localhost' || hostname.endsWith('.localhost')
  if (!isSecure || isIP(hostname.replace(/^\[|\]$/g, '')) !== 0) return null
  return domain ?? hostname
}
