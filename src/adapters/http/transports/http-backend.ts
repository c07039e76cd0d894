import type { IncomingHttpHeaders } from 'node:http'
import type { Backend, Presented } from '../../../application/sign-in/authenticate.ts'
import type { Transport } from './transport.ts'

/** A backend as HTTP knows it: a strategy, and how its credential travels. */
export interface HttpBackend extends Backend {
  readonly transport: Transport
}

/** Whatever credentials a request carries where a backend's transport looks, in order of declaration. */
export function presentedBy(headers: IncomingHttpHeaders, backends: readonly HttpBackend[]): Presented[] {
  const presented: Presented[] = []
  for (const backend of backends) {
    const value = backend.transport.read(headers)
    if (value !== null) presented.push({ backend, value })
  }
  return presented
}

/**
 * Whether a browser says that a page of a foreign origin makes this request. A client that sends neither header
 * is no browser, and carries no cookie against its user's will (OWASP CSRF cheat sheet; W3C Fetch Metadata).
 */
export function isForeign(headers: IncomingHttpHeaders, ownOrigins: ReadonlySet<string>): boolean {
  const { origin } = headers
  if (origin !== undefined) return !ownOrigins.has(origin)
  const site = headers['sec-fetch-site']
  return site === 'cross-site' || site === 'same-site'
}

const loopbackNames = ['localhost', '127.0.0.1', '[::1]']

/** The origins whose pages are ours: of the public URL, every name of loopback with its port, and the allowed ones. */
export function ownOrigins(publicUrl: string, allowedOrigins: readonly string[]): ReadonlySet<string> {
  const { origin, hostname, protocol, port } = new URL(publicUrl)
  const own = new Set([origin, ...allowedOrigins])
  if (loopbackNames.includes(hostname)) {
    for (const name of loopbackNames) own.add(new URL(`${protocol}//${name}:${port}`).origin)
  }
  return own
}
