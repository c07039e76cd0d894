import { mayPublishKeys } from '../../adapters/credentials/signing/options.ts'
import { pagePaths, routes } from '../../adapters/http/routes.ts'
import { routers } from '../plugins/routers.ts'
import type { Settings } from './schema/schema.ts'
import { enabledOf } from './schema/tree.ts'
import type { LoadedTenants } from './tenants.ts'

interface MountedRoute {
  readonly method: string
  readonly path: string
  /** The setting of its prefix. */
  readonly setting: string
}

/** The routes of every enabled backend, provider and router, in this order, and of the keys. */
export function mountedRoutes(settings: Settings): MountedRoute[] {
  const hasFactors = settings.routers.factors.enabled
  const ofBackends = [...Object.values(routes.auth), ...(hasFactors ? Object.values(routes.secondFactor) : [])]
  const backends = enabledOf(settings.backends).flatMap(([name, { prefix }]) =>
    below(prefix, `backends.${name}.prefix`, ofBackends),
  )
  const providers = enabledOf(settings.providers).flatMap(([name, { prefix, associatePrefix }]) => [
    ...below(prefix, `providers.${name}.prefix`, Object.values(routes.oauth)),
    ...below(associatePrefix, `providers.${name}.associatePrefix`, Object.values(routes.oauthAssociate)),
  ])
  const others = routers
    .filter(({ name }) => settings.routers[name].enabled)
    .flatMap(({ name, router }) => {
      const { prefix } = settings.routers[name]
      const own = router.endpoints.map(({ method, path }) => [method, path] as const)
      return below(prefix, `routers.${name}.prefix`, [...own, ...(name === 'users' ? optionalOf(settings) : [])])
    })
  const ofKeys = mayPublishKeys(settings) ? pagePaths.keys : []
  const keys = ofKeys.map((path) => ({ method: 'GET', path, setting: 'the service itself' }))
  return [...backends, ...providers, ...others, ...keys]
}

function optionalOf({ users }: Settings) {
  return [
    ...(users.selfExport ? Object.values(routes.ownExport) : []),
    ...(users.search ? [...Object.values(routes.userSearch), ...Object.values(routes.explain)] : []),
  ]
}

/** The account pages, and the routes that come with them. A Koa app has none. */
export function pageRoutes({ pages, apps, routers: { resetPassword } }: Settings): MountedRoute[] {
  if (!pages.enabled) return []
  const files = [...pagePaths.account, ...pagePaths.frontDoor].map((path) => ['GET', path] as const)
  const checks = [
    ...Object.values(routes.checkPassword),
    ...(resetPassword.enabled ? Object.values(routes.checkReset) : []),
  ]
  const ofApps = enabledOf(apps).length > 0 ? Object.values(routes.apps) : []
  return [...below('', 'pages.enabled', [...files, ...checks]), ...below('', 'apps', ofApps)]
}

/** The routes and pages of the console. A Koa app has none. */
export function consoleRoutes({ admin }: Settings): MountedRoute[] {
  if (!admin.enabled) return []
  const pages = pagePaths.console.map((path) => ['GET', path] as const)
  return below('', 'admin.enabled', [...Object.values(routes.admin), ...pages])
}

function below(
  prefix: string,
  setting: string,
  own: readonly (readonly [method: string, path: string, ...unknown[]])[],
): MountedRoute[] {
  return own.map(([method, path]) => ({ method, path: `${prefix}${path}`, setting }))
}

/** Knows the paths of tenants without opening them. A disabled tenant has the paths of the common settings. */
export function pathsOfTenants(common: Settings, { enabled }: LoadedTenants) {
  const known = new WeakMap<Settings, RegExp>()

  function has(settings: Settings, path: string): boolean {
    const pattern = known.get(settings) ?? patternOf(settings)
    known.set(settings, pattern)
    return pattern.test(path)
  }

  return {
    isOf: (tenant: string, path: string) => has(enabled.get(tenant)?.settings ?? common, path),
    isOfAny: (path: string) =>
      [common, ...[...enabled.values()].map((one) => one.settings)].some((of) => has(of, path)),
  }
}

/** Matches every path. Besides `:name`, only a dot has a meaning in a pattern. */
function patternOf(settings: Settings): RegExp {
  const paths = mountedRoutes(settings).map(({ path }) => path.replaceAll('.', '\\.').replace(/:\w+/g, '[^/]+'))
  return new RegExp(`^(?:${[...new Set(paths)].join('|')})$`)
}
