import type { IncomingHttpHeaders } from 'node:http'
import type { Authenticate, Authenticated } from '../../../application/sign-in/authenticate.ts'
import { Refusal } from '../../../domain/refusal.ts'
import { type HttpBackend, isForeign, presentedBy } from '../transports/http-backend.ts'

export interface IdentifyNeeds {
  readonly authenticate: Pick<Authenticate, 'execute'>
  readonly backends: readonly HttpBackend[]
  /** Origins whose pages may act with our cookies. Known once the service listens. */
  readonly ownOrigins: () => ReadonlySet<string>
}

/** Finds out who makes a request. Throws the refusal of one that nobody makes, or a page that must not. */
export type Identify = (request: Asking) => Promise<Authenticated>

interface Asking {
  readonly method?: string | undefined
  readonly headers: IncomingHttpHeaders
}

/** RFC 9110 section 9.2.1: what is asked by these changes nothing, so that no page gains by asking it. */
const safeMethods: ReadonlySet<string | undefined> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE'])

export function identifying({ authenticate, backends, ownOrigins }: IdentifyNeeds): Identify {
  const ambient = new Set(backends.filter(({ transport }) => transport.isAmbient).map(({ name }) => name))

  return async ({ method, headers }) => {
    const by = await authenticate.execute(presentedBy(headers, backends))
    if (by === null) throw new Refusal('UNAUTHORIZED')
    const isByPage = ambient.has(by.backend.name) && !safeMethods.has(method)
    if (isByPage && isForeign(headers, ownOrigins())) throw new Refusal('FORBIDDEN')
    return by
  }
}

/** Writes down the use of a session, without anybody waiting for it. */
export function touch({ backend, credential }: Authenticated): void {
  backend.credentials.recordUse(credential).catch(() => undefined)
}
