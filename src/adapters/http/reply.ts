/** An empty value with `maxAgeSeconds` 0 removes the cookie. */
export interface Cookie {
  readonly name: string
  readonly value: string
  readonly path: string
  readonly httpOnly: boolean
  readonly secure: boolean
  readonly sameSite: 'lax' | 'strict' | 'none'
  readonly domain?: string
  /** `null` for a cookie that ends with the browser. */
  readonly maxAgeSeconds: number | null
}

export interface Page {
  readonly type: string
  readonly content: string | Buffer
}

export interface Reply {
  readonly status: number
  readonly body?: unknown
  readonly page?: Page
  readonly headers?: Readonly<Record<string, string>>
  readonly cookies?: readonly Cookie[]
}

/** Headers of every answer besides `X-Request-Id` (OWASP HTTP Headers cheat sheet). */
export const standardHeaders = [
  ['Cache-Control', 'no-store'],
  ['X-Content-Type-Options', 'nosniff'],
  ['Referrer-Policy', 'no-referrer'],
  ['Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'"],
] as const

/** Makes browsers use TLS only (RFC 6797). */
export const strictTransportSecurity = ['Strict-Transport-Security', 'max-age=31536000; includeSubDomains'] as const
