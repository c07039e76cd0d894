/** The path of an address without its final slash: `/accounts` of `https://example.com/accounts`, empty for an origin or none. */
export function basePathOf(url: string | undefined): string {
  return url === undefined ? '' : new URL(url).pathname.replace(/\/$/, '')
}

/** `/auth/register` of `/accounts/auth/register`. A proxy may have removed the base already. */
export function withoutBase(path: string, base: string): string {
  if (path === base) return '/'
  return path.startsWith(`${base}/`) ? path.slice(base.length) : path
}

/**
 * RFC 8414 section 3.1 puts the path of an issuer behind that of the document: `/.well-known/x/accounts`. OpenID Connect Discovery
 * section 4 puts it in front: `/accounts/.well-known/x`, as all other paths of the issuer have it. Returns the second form of both.
 */
export function withIssuerFirst(path: string): string {
  return path.replace(/^(\/\.well-known\/(?:oauth-authorization-server|openid-configuration))(\/.+)$/, '$2$1')
}
