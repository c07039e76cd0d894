import Router from '@koa/router'
import type { Context } from 'koa'
import type { Authenticated } from '../../../application/sign-in/authenticate.ts'
import { Refusal } from '../../../domain/refusal.ts'
import { readBody } from '../body/read-body.ts'
import type { Endpoint, Router as Operations } from '../endpoint.ts'
import type { Reply } from '../reply.ts'
import { isForeign } from '../transports/http-backend.ts'
import { type Identify, touch } from './identify.ts'
import { send } from './send.ts'
import { validator } from './validate.ts'

export interface MountNeeds {
  readonly identify: Identify
  /** Origins whose pages may act with our cookies. Known once the service listens. */
  readonly ownOrigins: () => ReadonlySet<string>
  /** In tests: a refusal that its endpoint does not list is a fault. */
  readonly strict: boolean
}

/** For operations that have no parameters in it. */
const noQuery = new URLSearchParams()

/** A path has one spelling: no slash more, no letter of the other case. */
export const spelling = { strict: true, sensitive: true }

/** Every operation on its path. The order of a request's checks is the order of the lines of `serve`. */
export function mount(routers: readonly Operations[], needs: MountNeeds): Router {
  const router = new Router(spelling)
  const claimed = new Set<string>()
  for (const { prefix, endpoints } of routers) {
    for (const endpoint of endpoints) {
      const path = `${prefix}${endpoint.path}`
      const claim = `${endpoint.method} ${path}`
      if (claimed.has(claim)) throw new Error(`two routers claim ${claim}`)
      claimed.add(claim)
      router.register(path, [endpoint.method], server(endpoint, needs))
    }
  }
  return router
}

function server(endpoint: Endpoint, needs: MountNeeds): (ctx: Context) => Promise<void> {
  const { access, encoding, target } = endpoint
  const validate = endpoint.body === null ? null : validator(endpoint.body)

  async function serve(ctx: Context): Promise<Reply> {
    const raw = validate === null ? null : await readBody(ctx, encoding)

    const by = access === 'public' ? null : await identify(ctx)
    if (endpoint.ownOriginsOnly && isForeign(ctx.req.headers, needs.ownOrigins())) throw new Refusal('FORBIDDEN')
    if (access === 'superuser' && !by?.user.isSuperuser) throw new Refusal('FORBIDDEN')

    // Safe from here: `endpoint` typed target and handle against this very access, body and target.
    const params: Record<string, string> = ctx.params
    const found = target === null ? null : await target({ params, by: by as never })
    if (target !== null && found === null) throw new Refusal('NOT_FOUND')
    const body = validate !== null && raw !== null ? validate(raw) : null
    return await endpoint.handle({
      body: body as never,
      target: found as never,
      by: by as never,
      params,
      query: endpoint.query === undefined ? noQuery : new URLSearchParams(ctx.querystring),
      cookie: ctx.req.headers.cookie,
      requestId: ctx.state.requestId,
    })
  }

  async function identify(ctx: Context): Promise<Authenticated> {
    const by = await needs.identify(ctx.req)
    ctx.state.by = by
    return by
  }

  return async (ctx) => {
    try {
      send(ctx, await serve(ctx))
    } catch (thrown) {
      if (needs.strict) insistOnListed(thrown, endpoint)
      throw thrown
    }
    if (ctx.state.by !== undefined) touch(ctx.state.by)
  }
}

function insistOnListed(thrown: unknown, endpoint: Endpoint): void {
  if (!(thrown instanceof Refusal) || ['UNAUTHORIZED', 'FORBIDDEN', 'NOT_FOUND'].includes(thrown.code)) return
  if (!endpoint.refusals.includes(thrown.code)) {
    throw new Error(`${endpoint.operationId} does not list ${thrown.code}`, { cause: thrown })
  }
}
