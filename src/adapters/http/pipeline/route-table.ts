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

/**
 * Paths are compared exactly, with slashes and case. A path without parameters wins over one with them; of two matching paths
 * with parameters, the earlier one wins.
 */
export function routeTable(routes: readonly Route[]) {
  const router = new Router({ strict: true, sensitive: true })
  /** By path and method. @koa/router would try every pattern at each request. */
  const exact = new Map<string, Map<string, Operation>>()
  const taken = new Set<string>()

  for (const { method, path, operation, answersHead = false } of routes) {
    const name = `${method} ${path}`
    if (taken.has(name)) throw new Error(`two routers have ${name}`)
    taken.add(name)
    const methods = answersHead ? [method, 'HEAD'] : [method]
    if (/[:{]/.test(path)) {
      const layer = router.register(path, methods, (ctx) => {
        ctx.state.route = path.replace('{*rest}', '')
        return operation(ctx, ctx.params)
      })
      // @koa/router answers HEAD where it has GET, but a HEAD on a callback would change state.
      layer.methods = methods
    } else {
      const known = exact.get(path) ?? new Map<string, Operation>()
      exact.set(path, known)
      for (const one of methods) known.set(one, operation)
    }
  }
  const dispatch = router.routes()

  return {
    /** Calls the operation of a request, or `refuse` if there is none. */
    answer(ctx: Context, refuse: () => Promise<void>): Promise<void> {
      const operation = exact.get(ctx.path)?.get(ctx.method)
      if (operation === undefined) return dispatch(ctx as RouterContext, refuse)
      ctx.state.route = ctx.path
      return operation(ctx, {})
    },

    has: (path: string): boolean => exact.has(path) || router.match(path, '').path.length > 0,

    methodsAt(path: string): readonly string[] {
      const byParameters = router.match(path, '').path.flatMap((layer) => layer.methods)
      return [...new Set([...(exact.get(path)?.keys() ?? []), ...byParameters])].sort()
    },
  }
}
