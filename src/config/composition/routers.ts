import { loginFieldOf } from '../../adapters/fields/login-field.ts'
import type { Use as UseOfConsole } from '../../adapters/http/admin/admin-router.ts'
import { explainRouter } from '../../adapters/http/admin/explain-router.ts'
import type { UseOfApps } from '../../adapters/http/apps/apps-router.ts'
import type { Mounted, Router } from '../../adapters/http/endpoint.ts'
import type { MountedProvider } from '../../adapters/http/oauth/mounted-provider.ts'
import type { Route } from '../../adapters/http/pipeline/route-table.ts'
import { type RoutesNeeds, routesOf } from '../../adapters/http/pipeline/serve.ts'
import { authRouter } from '../../adapters/http/routers/auth.ts'
import { checkPasswordRouter } from '../../adapters/http/routers/check-password.ts'
import { checkResetRouter } from '../../adapters/http/routers/check-reset.ts'
import { oauthRouter } from '../../adapters/http/routers/oauth.ts'
import { oauthAssociateRouter } from '../../adapters/http/routers/oauth-associate.ts'
import { ownDeletionRouter } from '../../adapters/http/routers/own-deletion.ts'
import { ownExportRouter } from '../../adapters/http/routers/own-export.ts'
import { secondFactorRouter } from '../../adapters/http/routers/second-factor.ts'
import { userSearchRouter } from '../../adapters/http/routers/user-search.ts'
import type { BrowserCookie } from '../../adapters/http/transports/browser-cookie.ts'
import type { DeviceCookie } from '../../adapters/http/transports/device-cookie.ts'
import type { HttpBackend } from '../../adapters/http/transports/http-backend.ts'
import type { ProviderVault } from '../../application/ports/provider-vault.ts'
import type { Authenticated } from '../../application/sign-in/authenticate.ts'
import { postsCallback } from '../plugins/providers.ts'
import { routers } from '../plugins/routers.ts'
import { hasApps, type Mount } from '../settings/mounts.ts'
import type { Settings } from '../settings/schema/schema.ts'
import { transportOf } from './backends-and-providers.ts'
import type { Tenant } from './tenant.ts'

/** Code that is loaded for the first tenant that has it; otherwise `null`. */
export interface LoadedCode {
  readonly apps: typeof import('./apps.ts') | null
  readonly console: typeof import('./console.ts') | null
}

export async function loadedCode(settings: Settings): Promise<LoadedCode> {
  return {
    apps: hasApps(settings) ? await import('./apps.ts') : null,
    console: settings.admin.enabled ? await import('./console.ts') : null,
  }
}

/** The use cases of an open tenant, and the other parts that handlers need. */
type Use = Tenant['useCases'] & {
  readonly vault: ProviderVault
  readonly backends: readonly HttpBackend[]
  readonly deviceCookie: DeviceCookie
  readonly browserCookie: BrowserCookie
  readonly qrCode: (text: string) => Promise<string>
  readonly isTooWeak: (by: Authenticated) => boolean
  readonly serviceName: string
}

interface Parts {
  readonly use: Use
  readonly providers: ReadonlyMap<string, MountedProvider>
  /** `null` without apps. */
  readonly apps: UseOfApps | null
  /** `null` without the console. */
  readonly console: UseOfConsole | null
}

/** A router of the API at its place. Its routes need an open tenant. */
interface PlacedRouter extends Mounted {
  routesOf(parts: Parts, needs: RoutesNeeds): Route[]
}

function placed<Own>(mount: Mount, router: Router<Own>, useOf: (parts: Parts) => Own): PlacedRouter {
  const { prefix, requiresVerification } = mount
  const mounted = { ...router, prefix, requiresVerification }
  return { ...mounted, routesOf: (parts, needs) => routesOf(mounted, useOf(parts), needs) }
}

/** Those that need no more than `Use`. */
const plain: Partial<Record<Mount['part'], Router<Use>>> = {
  ...Object.fromEntries(routers.map(({ name, router }) => [name, router])),
  explain: explainRouter,
  ownDeletion: ownDeletionRouter,
  ownExport: ownExportRouter,
  userSearch: userSearchRouter,
  checkReset: checkResetRouter,
  checkPassword: checkPasswordRouter,
}

/** The router of a mount; `null` for a page. */
export function routerOf(mount: Mount, settings: Settings, { apps, console }: LoadedCode): PlacedRouter | null {
  const { part, owner } = mount
  const hasFactors = settings.routers.factors.enabled
  const described = (name: string) => {
    const own = found(settings.backends[name])
    return { name, transport: transportOf(own), loginField: loginFieldOf(own) }
  }
  const withBackend = ({ use }: Parts, name: string) => ({
    ...use,
    backend: found(use.backends.find((one) => one.name === name)),
  })
  const ofProvider = ({ providers, ...parts }: Parts) => ({
    ...withBackend({ providers, ...parts }, found(settings.providers[owner]).backend),
    mounted: found(providers.get(owner)),
  })
  switch (part) {
    case 'auth':
      return placed(mount, authRouter({ ...described(owner), hasFactors }), (parts) => withBackend(parts, owner))
    case 'secondFactor':
      return placed(mount, secondFactorRouter(described(owner)), (parts) => withBackend(parts, owner))
    case 'oauth': {
      const { kind, backend } = found(settings.providers[owner])
      const provider = { name: owner, backend: described(backend), postsCallback: postsCallback(kind), hasFactors }
      return placed(mount, oauthRouter(provider), ofProvider)
    }
    case 'oauthAssociate':
      return placed(
        mount,
        oauthAssociateRouter(owner, postsCallback(found(settings.providers[owner]).kind)),
        ofProvider,
      )
    case 'apps':
      return apps && placed(mount, apps.appsRouter, (parts) => found(parts.apps))
    case 'admin':
      return console && placed(mount, console.adminRouter, (parts) => found(parts.console))
    default: {
      const router = plain[part]
      return router === undefined ? null : placed(mount, router, ({ use }) => use)
    }
  }
}

/** The settings were checked, so each mount has its parts. */
function found<T>(part: T | null | undefined): T {
  if (part == null) throw new Error('a router lacks a part of its mount')
  return part
}
