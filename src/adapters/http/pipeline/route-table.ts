import Router, { type RouterContext } from '@koa/router'
import type { Context } from 'koa'

export type Operation = (ctx: Context, params: Readonly<Record<string, string>>) => Promise<void>

export interface Route {
  readonly method: string
  /** `:name` is a parameter. */
  readonly path: string
  readonly operation: Operation
}

export type RouteTable = ReturnType<typeof routeTable>

/** Paths are compared exactly, with slashes and case. The earlier of two matching routes wins. */
export function routeTable(routes: readonly Route[]) {
  const router = new Router({ strict: true, sensitive: true })
  const taken = new Set<string>()
  for (const { method, path, operation } of routes) {
    const name = `${method} ${path}`
    if (taken.has(name)) throw new Error(`two routers have ${name}`)
    taken.add(name)
    router.register(path, [method], (ctx) => {
      ctx.state.route = path
      return operation(ctx, ctx.params)
    })
  }
  const dispatch = router.routes()

  return {
    /** Calls the operation of a request, or `refuse` if there is none. */
    async answer(ctx: Context, refuse: () => Promise<void>): Promise<void> {
      // @koa/router answers HEAD where it has GET. FastAPI does not, and a HEAD on a callback would change state.
      await (ctx.method === 'HEAD' ? refuse() : dispatch(ctx as RouterContext, refuse))
    },

    methodsAt(path: string): readonly string[] {
      const methods = router.match(path, '').path.flatMap((layer) => layer.methods)
      return [...new Set(methods)].filter((method) => method !== 'HEAD').sort()
    },
  }
}
