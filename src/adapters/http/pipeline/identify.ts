import type { IncomingMessage } from 'node:http'
import type { Authenticate, Authenticated } from '../../../application/sign-in/authenticate.ts'
import { Unauthenticated } from '../errors.ts'
import type { RemoveRepeated } from '../transports/cookie-scopes.ts'
import { type HttpBackend, isSafe, presentedBy, refuseForeign } from '../transports/http-backend.ts'

interface IdentifyNeeds {
  readonly authenticate: Pick<Authenticate, 'execute'>
  readonly backends: readonly HttpBackend[]
  /** Origins whose pages may use our cookies. */
  readonly ownOrigins: ReadonlySet<string>
  readonly removeRepeated: RemoveRepeated
}

/** The id of the user for whom a page acts. A request of another user is refused. */
export const expectedUserHeader = 'portcullis-user'

/** Returns the user of a request. Throws `UNAUTHORIZED`, or `FORBIDDEN` for a page of another origin. */
export type Identify = (request: Pick<IncomingMessage, 'method' | 'headers' | 'url'>) => Promise<Authenticated>

export function identifying({ authenticate, backends, ownOrigins, removeRepeated }: IdentifyNeeds): Identify {
  const ambient = new Set(backends.filter(({ transport }) => transport.isAmbient).map(({ name }) => name))
  const cookies = backends.flatMap(({ transport }) => transport.clear().cookies ?? [])

  return async (request) => {
    const { method, headers } = request
    const by = await authenticate.execute(presentedBy(headers, backends))
    if (by === null) throw new Unauthenticated(await removeRepeated(request, cookies))
    if (ambient.has(by.backend.name) && !isSafe(method)) refuseForeign(headers, ownOrigins)
    return by
  }
}

/** Records the use of a session without delaying the answer. */
export function recordUse({ backend, credential }: Authenticated): void {
  backend.credentials.recordUse(credential).catch(() => undefined)
}
