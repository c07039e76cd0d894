/** The path of an address without its final slash: `/accounts` of `https://example.com/accounts`, empty for an origin or none. */
export function basePathOf(url: string | undefined): string {
  return url === undefined ? '' : new URL(url).pathname.replace(/\/$/, '')
}

/** `/auth/register` of `/accounts/auth/register`. A proxy may have removed the base already. */
export function withoutBase(path: string, base: string): string {
  if (path === base) return '/'
  return path.startsWith(`${base}/`) ? path.slice(base.length) : path
}
