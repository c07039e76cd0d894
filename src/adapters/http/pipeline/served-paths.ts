import Router from '@koa/router'
import { spelling } from './serve.ts'

/**
 * Tells the paths at which there is something by any method, exactly as the router tells them that serves it.
 *
 * @param paths with parameters as `:name`
 */
export function servedPaths(paths: readonly string[]): (path: string) => boolean {
  const router = new Router(spelling)
  for (const path of paths) router.register(path, ['GET'], () => undefined)
  return (path) => router.match(path, 'GET').path.length > 0
}
