import { randomUUID } from 'node:crypto'

const always = [
  ['Cache-Control', 'no-store'],
  ['X-Content-Type-Options', 'nosniff'],
  ['Referrer-Policy', 'no-referrer'],
  ['Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'"],
] as const

/** By TLS only (RFC 6797), as the browser came this time. */
export const demandOfTls = ['Strict-Transport-Security', 'max-age=31536000; includeSubDomains'] as const

/**
 * What every answer has, whatever its status (OWASP HTTP Headers cheat sheet).
 *
 * @param isTls whether browsers reach us by TLS
 */
export function frameHeaders(isTls: boolean, requestId: string = randomUUID()): (readonly [string, string])[] {
  return [...always, ['X-Request-Id', requestId], ...(isTls ? [demandOfTls] : [])]
}
