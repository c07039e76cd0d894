import type { IncomingHttpHeaders } from 'node:http'
import type { ReplySchema } from '../endpoint.ts'
import type { Reply } from '../reply.ts'

/** The "transport" half of a backend: how its credential travels. */
export interface Transport {
  /** The credential a request carries; `null` when it carries none, or more than one. */
  read(headers: IncomingHttpHeaders): string | null
  /** The answer to a login. */
  deliver(credential: string): Reply
  /** The answer to a logout. */
  clear(): Reply
  /** Whether browsers send the credential by themselves, so that foreign pages can make requests with it. */
  readonly isAmbient: boolean
  /** What `deliver` answers, for the OpenAPI document. */
  readonly replies: Readonly<Record<number, ReplySchema>>
  /** How OpenAPI describes the credential, given where the backend's login is; `null`: a path alone does not lead there. */
  securityScheme(loginPath: string | null): Readonly<Record<string, unknown>>
}
