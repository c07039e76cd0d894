import { mayPublishKeys } from '../../adapters/credentials/signing/options.ts'
import { pagePaths, routes } from '../../adapters/http/routes.ts'
import { routers } from '../plugins/routers.ts'
import { isLocal } from './defaults.ts'
import type { Settings } from './schema/schema.ts'
import { enabledOf } from './schema/tree.ts'
import type { LoadedTenants } from './tenants.ts'

/** Every part of the service that has routes: a key of `routes` or of `pagePaths`. */
type Part = keyof typeof routes | keyof typeof pagePaths

/** A part at a place. */
export interface Mount {
  readonly part: Part
  /** The setting that puts it there. */
  readonly setting: string
  readonly prefix: string
  /** The name of its backend or provider; empty without one. */
  readonly owner: string
  /** Whether its routes for users refuse those without a verified address. */
  readonly requiresVerification: boolean
  /** Whether a Koa app has it, too. */
  readonly isInKoa: boolean
  readonly routes: readonly { readonly method: string; readonly path: string }[]
}

/** Whether the sign-in for apps is served. A Koa app has no pages, and so no such sign-in. */
export function hasApps({ apps, pages }: Settings): boolean {
  return pages.enabled && enabledOf(apps).length > 0
}

/** Every mount of the settings. Routes, faults of paths, documents and the paths of tenants come from this list. */
export function mountsOf(settings: Settings): readonly Mount[] {
  const { pages, routers: own, users, admin } = settings
  const backends = enabledOf(settings.backends)
  const ofUsers = (isOn: boolean, part: Part) =>
    when(isOn && own.users.enabled, mount(part, 'routers.users.prefix', own.users))
  const hasDoor = pages.enabled || (settings.try.enabled && isLocal(settings.http))
  return [
    // A page comes before a parameter at the same place, such as `/:user_id`.
    ...when(pages.enabled, mount('account', 'pages.enabled')),
    ...when(hasDoor, mount('frontDoor', 'pages.enabled')),
    ...backends.map(([owner, { prefix, logoutRequiresVerification: requiresVerification }]) =>
      mount('auth', `backends.${owner}.prefix`, { prefix, owner, requiresVerification }),
    ),
    ...backends.flatMap(([owner, { prefix }]) =>
      when(own.factors.enabled, mount('secondFactor', `backends.${owner}.prefix`, { prefix, owner })),
    ),
    ...ofUsers(users.search, 'explain'),
    ...routers.flatMap(({ name }) => when(own[name].enabled, mount(name, `routers.${name}.prefix`, own[name]))),
    ...ofUsers(users.selfDeletion, 'ownDeletion'),
    ...ofUsers(users.selfExport, 'ownExport'),
    ...ofUsers(users.search, 'userSearch'),
    // Routes of the pages that programs may want to call, too.
    ...when(pages.enabled && own.resetPassword.enabled, mount('checkReset', 'pages.enabled')),
    ...when(pages.enabled, mount('checkPassword', 'pages.enabled')),
    ...when(hasApps(settings), mount('apps', 'apps')),
    ...when(pages.enabled && admin.enabled, mount('admin', 'admin.enabled')),
    ...enabledOf(settings.providers).flatMap(([owner, { prefix, associatePrefix, associateRequiresVerification }]) => {
      const linking = { prefix: associatePrefix, owner, requiresVerification: associateRequiresVerification }
      return [
        mount('oauth', `providers.${owner}.prefix`, { prefix, owner }),
        mount('oauthAssociate', `providers.${owner}.associatePrefix`, linking),
      ]
    }),
    ...when(settings.try.enabled, mount('try', 'try.enabled'), mount('mailbox', 'try.enabled')),
    { ...mount('keys', 'the service itself'), isInKoa: mayPublishKeys(settings) },
    ...when(pages.enabled && admin.enabled, mount('console', 'admin.enabled')),
    ...when(settings.docs.enabled, mount('docs', 'docs.enabled')),
    mount('operations', 'the service itself'),
  ]
}

const when = (isOn: boolean, ...mounts: readonly Mount[]): readonly Mount[] => (isOn ? mounts : [])

function mount(part: Part, setting: string, place: Partial<Mount> = {}): Mount {
  const { prefix = '', owner = '', requiresVerification = false } = place
  const routes = routesOf(part, prefix)
  return { part, setting, prefix, owner, requiresVerification, isInKoa: prefix !== '', routes }
}

function routesOf(part: Part, prefix: string): Mount['routes'] {
  if (part in pagePaths) return pagePaths[part as keyof typeof pagePaths].map((path) => ({ method: 'GET', path }))
  const own = Object.values(routes[part as keyof typeof routes])
  return own.map(([method, path]) => ({ method, path: `${prefix}${path}` }))
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
  const routes = mountsOf(settings).flatMap((mount) => (mount.isInKoa ? mount.routes : []))
  const paths = routes.map(({ path }) => path.replaceAll('.', '\\.').replace(/:\w+/g, '[^/]+'))
  return new RegExp(`^(?:${[...new Set(paths)].join('|')})$`)
}
