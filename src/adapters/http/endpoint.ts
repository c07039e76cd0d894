import type { Static, TSchema } from 'typebox'
import type { KnownFacts } from '../../application/event-metadata.ts'
import type { Authenticated } from '../../application/sign-in/authenticate.ts'
import type { doors } from '../../domain/fields.ts'
import type { RefusalCode } from '../../domain/refusal.ts'
import type { Reply } from './reply.ts'
import type { Access, Limit, Method, Route } from './routes.ts'

/** The body of an answer; `null` for none. */
export type ReplySchema = { readonly description: string; readonly body: TSchema | null }

/** An optional parameter of the query. Unless the handler says otherwise, unknown parameters are ignored. */
export interface QueryParameter {
  readonly name: string
  readonly description: string
  readonly isRepeated?: boolean
  /** For documents; by default a text. */
  readonly schema?: TSchema
}

/** An operation of a router. `Use` has the use cases of its handler. */
export interface Endpoint<Use = never> {
  readonly method: Method
  readonly path: string
  readonly access: Access
  readonly limit: Limit | null
  /** The schemas of those parameters of the path that are no UUIDs. */
  readonly parameters?: Readonly<Record<string, TSchema>>
  readonly operationId: string
  readonly summary: string
  readonly replies: Readonly<Record<number, ReplySchema>>
  /** The refusals of the operation itself, without those of its access and its body. */
  readonly refusals: readonly RefusalCode[]
  /**
   * Refuses pages of other origins: a forged login would put a victim into the attacker's account. `or apps` admits the app
   * schemes in `http.allowedOrigins`, to an operation that sets no session, and refuses nothing without a backend with cookies.
   * `pages` admits our own pages alone, and no page of `http.allowedOrigins`.
   */
  readonly ownOriginsOnly?: boolean | 'or apps' | 'pages'
  readonly query?: readonly QueryParameter[]
  /** Whether a login may call it before it has the second factor that the settings demand: what a user needs to add one. */
  readonly isBeforeFactor?: boolean
  /** Whether a POST only reads, so that a superuser needs no recent login for it. */
  readonly changesNothing?: boolean
  /** Whether HEAD is answered like GET, without the body. Only for operations that change nothing. */
  readonly answersHead?: boolean
  /** Answers browsers of this machine only; other requests are 404. */
  readonly isLocal?: boolean
  /** Belongs to the console, which the settings may keep to a port and to networks. Other requests are 404. */
  readonly isOfConsole?: boolean
  readonly encoding: 'json' | 'form'
  /** The answer to what was thrown, if a standard demands another form than ours; `null` for our own answer. */
  readonly errorReply?: (thrown: unknown) => Reply | null
  readonly body: TSchema | null
  /** The rules for the fields that the deployer declares; absent if the body has none. */
  readonly ownFields?: keyof typeof doors
  /** Called after the check of rights and before validation; `null` is 404. */
  readonly target:
    | ((incoming: { params: Readonly<Record<string, string>>; by: never }, use: Use) => Promise<unknown>)
    | null
  readonly handle: (incoming: Incoming<never, never, never>, use: Use) => Promise<Reply>
}

export interface Incoming<Body, Target, Who> {
  readonly body: Body
  /** The other members of the body, if the operation takes own fields. Use cases check them. */
  readonly fields: Readonly<Record<string, unknown>>
  readonly target: Target
  readonly by: Who
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  readonly cookie: string | undefined
  readonly authorization: string | undefined
  /** `traits` parses a header each time. */
  readonly request: KnownFacts
  /** Whether a page of an origin that is not ours made the request, and not through a proxy at its own origin. */
  readonly isForeign: () => boolean
  readonly isFromThisMachine: () => boolean
  /** The host of the request with its port, as the header names it. */
  readonly host: () => string
}

type Who<A extends Access> = A extends 'public' ? null : A extends 'anybody' ? Authenticated | null : Authenticated

type Optional = 'replies' | 'refusals' | 'encoding'

interface Definition<A extends Access, B extends TSchema | null, T, Use>
  extends Omit<Endpoint, 'method' | 'path' | 'access' | 'limit' | Optional | 'body' | 'target' | 'handle'>,
    Partial<Pick<Endpoint, Optional>> {
  readonly body?: B
  readonly target?: (incoming: { params: Readonly<Record<string, string>>; by: Who<A> }, use: Use) => Promise<T | null>
  handle(incoming: Incoming<B extends TSchema ? Static<B> : null, T, Who<A>>, use: Use): Promise<Reply>
}

/** An operation is data: validation, types and the OpenAPI document come from this object, and the rest from its route. */
export function endpoint<A extends Access, B extends TSchema | null = null, T = null, Use = unknown>(
  [method, path, access, limit]: Route<A>,
  definition: Definition<A, B, T, Use>,
): Endpoint<Use> {
  const route = { method, path, access, limit: limit ?? null }
  return { replies: {}, refusals: [], encoding: 'json', body: null, target: null, ...definition, ...route }
}

export interface Router<Use = never> {
  readonly tag: string
  readonly endpoints: readonly Endpoint<Use>[]
}

/** A router below its prefix. */
export interface Mounted<Use = never> extends Router<Use> {
  readonly prefix: string
  /** Whether its routes for users refuse those without a verified address. */
  readonly requiresVerification?: boolean
}
