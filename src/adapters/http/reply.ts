/** A cookie to set; an empty value with `maxAgeSeconds` 0 removes it. */
export interface Cookie {
  readonly name: string
  readonly value: string
  readonly path: string
  readonly httpOnly: boolean
  readonly secure: boolean
  readonly sameSite: 'lax' | 'strict' | 'none'
  readonly domain?: string
  /** `null`: until the browser closes. */
  readonly maxAgeSeconds: number | null
}

/** What an operation answers. No body: an empty one. */
export interface Reply {
  readonly status: number
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly cookies?: readonly Cookie[]
}
