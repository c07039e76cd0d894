export interface Route<Operation> {
  readonly method: string
  /** `:name` is a parameter. */
  readonly path: string
  readonly operation: Operation
}

export interface Match<Operation> {
  readonly route: Route<Operation>
  readonly params: Readonly<Record<string, string>>
}

export interface RouteTable<Operation> {
  find(method: string, path: string): Match<Operation> | null
  /** The methods at a path, sorted. */
  methodsAt(path: string): readonly string[]
}

/** Paths are compared exactly, with slashes and case. The earlier of two matching routes wins. */
export function routeTable<Operation>(routes: readonly Route<Operation>[]): RouteTable<Operation> {
  const fixed = new Map<string, Route<Operation>[]>()
  const patterns: { readonly route: Route<Operation>; readonly pattern: RegExp }[] = []
  const taken = new Set<string>()
  for (const route of routes) {
    const name = `${route.method} ${route.path}`
    if (taken.has(name)) throw new Error(`two routers have ${name}`)
    taken.add(name)
    if (route.path.includes(':')) patterns.push({ route, pattern: patternOf(route.path) })
    else fixed.set(route.path, [...(fixed.get(route.path) ?? []), route])
  }

  return {
    find(method, path) {
      for (const route of fixed.get(path) ?? []) if (route.method === method) return { route, params: {} }
      for (const { route, pattern } of patterns) {
        const groups = route.method === method ? pattern.exec(path)?.groups : undefined
        if (groups !== undefined) return { route, params: decoded(groups) }
      }
      return null
    },

    methodsAt(path) {
      const matching = patterns.filter(({ pattern }) => pattern.test(path)).map(({ route }) => route)
      return [...new Set([...(fixed.get(path) ?? []), ...matching].map(({ method }) => method))].sort()
    },
  }
}

function patternOf(path: string): RegExp {
  const parts = path
    .split('/')
    .map((part) => (part.startsWith(':') ? `(?<${part.slice(1)}>[^/]+)` : part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')))
  return new RegExp(`^${parts.join('/')}$`)
}

/** A parameter that is no percent-encoded UTF-8 stays as it is. */
function decoded(groups: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(groups).map(([name, text]) => {
      try {
        return [name, decodeURIComponent(text)]
      } catch {
        return [name, text]
      }
    }),
  )
}
