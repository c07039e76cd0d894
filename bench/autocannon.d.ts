/** The part of the interface of autocannon that the bench uses. */
declare module 'autocannon' {
  interface Request {
    readonly method?: string
    readonly path?: string
    readonly headers?: Readonly<Record<string, string>>
    readonly body?: string
    /** Called before each request; returns the request to send. */
    readonly setupRequest?: (request: Request) => Request
  }
  interface Options {
    readonly url: string
    readonly connections: number
    /** In seconds. */
    readonly duration?: number
    /** Requests instead of seconds. */
    readonly amount?: number
    /** Each connection sends them in turn. */
    readonly requests: readonly Request[]
    /** Called for each connection. */
    readonly setupClient?: (client: { setRequests(requests: readonly Request[]): void }) => void
  }
  interface Result {
    readonly requests: { readonly total: number }
    readonly duration: number
    readonly errors: number
    readonly timeouts: number
    readonly non2xx: number
    readonly statusCodeStats: Readonly<Record<string, { readonly count: number }>>
  }
  export default function autocannon(options: Options): Promise<Result>
}
