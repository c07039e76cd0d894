import type { IncomingHttpHeaders } from 'node:http'
import type { Granted } from '../../../application/sign-in/complete-login.ts'
import type { ReplySchema } from '../endpoint.ts'
import type { Reply } from '../reply.ts'

export interface Transport {
  /** The credential of a request; `null` for none, or more than one. */
  read(headers: IncomingHttpHeaders): string | null
  deliver(granted: Pick<Granted, 'issued'>): Reply & { readonly body?: object }
  clear(): Reply
  /** Whether browsers send the credential by themselves, so that pages of other origins can use it. */
  readonly isAmbient: boolean
  /** The answers of `deliver` in the OpenAPI document. */
  readonly replies: Readonly<Record<number, ReplySchema>>
  /** @param loginPath the path of the login; `null` if the path alone does not name the tenant */
  securityScheme(loginPath: string | null): Readonly<Record<string, unknown>>
}
