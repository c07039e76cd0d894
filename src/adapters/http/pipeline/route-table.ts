import Router, { type RouterContext } from '@koa/router'
import type { Context } from 'koa'

export type Operation = (ctx: Context, params: Readonly<Record<string, string>>) => Promise<void>

export interface Route {
  readonly method: string
  /** `:name` is a parameter, and `{*name}` the rest of the path, perhaps empty. */
  readonly path: string
  readonly operation: Operation
  /** Whether HEAD is answered like GET, without the body (RFC 9110 section 9.3.2). */
  readonly answersHead?: boolean
}

export type RouteTable = ReturnType<typeof routeTable>

/** Paths are compared exactly, with slashes and case. The earlier of two matching routes wins. */
export function routeTable(routes: readonly Route[]) {
  const router = new Router({ strict: true, sensitive: true })
  const taken = new Set<string>()
  for (const { method, path, operation, answersHead = false } of routes) {
    const name = `${method} ${path}`
    if (taken.has(name)) throw new Error(`two routers have ${name}`)
    taken.add(name)
    const layer = router.register(path, [method], (ctx) => {
      ctx.state.route = path.replace('{*rest}', '')
      return operation(ctx, ctx.params)
    })
    // @koa/router answers HEAD where it has GET, but a HEAD on a callback would change state.
    if (!answersHead) layer.methods = layer.methods.filter((one) => one !== 'HEAD')
  }
  const dispatch = router.routes()

  return {
    /** Calls the operation of a request, or `refuse` if there is none. */
    async answer(ctx: Context, refuse: () => Promise<void>): Promise<void> {
      await dispatch(ctx as RouterContext, refuse)
    },

    methodsAt(path: string): readonly string[] {
      const methods = router.match(path, '').path.flatMap((layer) => layer.methods)
      return [...new Set(methods)].sort()
    },
  }
}
