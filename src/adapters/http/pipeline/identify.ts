import type { IncomingMessage } from 'node:http'
import type { Authenticate, Authenticated } from '../../../application/sign-in/authenticate.ts'
import { Refusal } from '../../../domain/refusal.ts'
import { type HttpBackend, presentedBy, refuseForeign } from '../transports/http-backend.ts'

interface IdentifyNeeds {
  readonly authenticate: Pick<Authenticate, 'execute'>
  readonly backends: readonly HttpBackend[]
  /** Origins whose pages may use our cookies. Call it only after the service listens. */
  readonly ownOrigins: () => ReadonlySet<string>
}

/** Returns the user of a request. Throws `UNAUTHORIZED`, or `FORBIDDEN` for a page of another origin. */
export type Identify = (request: Pick<IncomingMessage, 'method' | 'headers'>) => Promise<Authenticated>

/** RFC 9110 section 9.2.1: these methods change nothing, so pages of other origins may send them. */
const safeMethods: ReadonlySet<string | undefined> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE'])

export function identifying({ authenticate, backends, ownOrigins }: IdentifyNeeds): Identify {
  const ambient = new Set(backends.filter(({ transport }) => transport.isAmbient).map(({ name }) => name))

  return async ({ method, headers }) => {
    const by = await authenticate.execute(presentedBy(headers, backends))
    if (by === null) throw new Refusal('UNAUTHORIZED')
    if (ambient.has(by.backend.name) && !safeMethods.has(method)) refuseForeign(headers, ownOrigins())
    return by
  }
}

/** Records the use of a session without delaying the answer. */
export function recordUse({ backend, credential }: Authenticated): void {
  backend.credentials.recordUse(credential).catch(() => undefined)
}
