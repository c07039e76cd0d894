/** What every answer has, whatever its status (OWASP HTTP Headers cheat sheet), besides `X-Request-Id`. */
export const headersOnEvery = [
  ['Cache-Control', 'no-store'],
  ['X-Content-Type-Options', 'nosniff'],
  ['Referrer-Policy', 'no-referrer'],
  ['Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'"],
] as const

/** Tells the browser to come by TLS only (RFC 6797), as it did this time. */
export const demandOfTls = ['Strict-Transport-Security', 'max-age=31536000; includeSubDomains'] as const
