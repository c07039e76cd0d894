import { loginFieldOf } from '../../adapters/fields/login-field.ts'
import { journeyCookies } from '../../adapters/http/oauth/journey-cookies.ts'
import type { MountedProvider } from '../../adapters/http/oauth/mounted-provider.ts'
import { type BrowserCookie, browserCookie } from '../../adapters/http/transports/browser-cookie.ts'
import { type DeviceCookie, deviceCookie } from '../../adapters/http/transports/device-cookie.ts'
import type { HttpBackend } from '../../adapters/http/transports/http-backend.ts'
import type { Transport } from '../../adapters/http/transports/transport.ts'
import type { Logger } from '../../adapters/logging/log.ts'
import type { ProviderNeeds } from '../../adapters/oauth/kind.ts'
import type { DeviceTokens } from '../../application/ports/device-tokens.ts'
import type { OAuthProvider } from '../../application/ports/oauth-provider.ts'
import { isLoopback, leadsToLoopback } from '../../lib/loopback.ts'
import { checkedReturn } from '../../lib/return-to.ts'
import { build } from '../plugins/plugin.ts'
import { providers } from '../plugins/providers.ts'
import { type StrategyNeeds, strategies } from '../plugins/strategies.ts'
import { transports } from '../plugins/transports.ts'
import type { BackendSettings, ProviderSettings, Settings } from '../settings/schema/schema.ts'
import { enabledOf } from '../settings/schema/tree.ts'
import { defaultTenant } from '../settings/tenants.ts'
import { reportProvider } from './reports.ts'

export function transportOf({ transport, strategy }: Pick<BackendSettings, 'transport' | 'strategy'>): Transport {
  return build(transports, transport, { maxAgeSeconds: strategy.lifetimeSeconds })
}

/** The enabled backends, in order of declaration. */
export function backendsOf(settings: Settings['backends'], needs: Omit<StrategyNeeds, 'backend'>): HttpBackend[] {
  return enabledOf(settings).map(([name, { transport: kind, strategy, requiresVerification, loginBy }]) => {
    const transport = transportOf({ transport: kind, strategy })
    const credentials = build(strategies, strategy, { ...needs, backend: name })
    const loginField = loginFieldOf({ loginBy })
    return { name, requiresVerification, loginField, credentials, transport, isForBrowsers: transport.isAmbient }
  })
}

/** The enabled providers by name, in order of declaration. */
export function providersOf(
  settings: Settings['providers'],
  needs: Omit<ProviderNeeds, 'name'>,
): ReadonlyMap<string, OAuthProvider> {
  return new Map(
    enabledOf(settings).map(
      ([name, provider]) => [name, build(providers, provider, { ...needs, name, fields: provider.fields })] as const,
    ),
  )
}

interface CookieOwner {
  readonly id: string
  readonly settings: Settings
  readonly ports: { readonly deviceTokens: DeviceTokens; readonly newToken: () => string }
}

interface ProviderOwner {
  readonly settings: Settings
  readonly log: Logger
  readonly providers: ReadonlyMap<string, OAuthProvider>
}

/** The needs of the routes of the enabled providers, by name. */
export function mountedProviders(
  { settings, log, providers: built }: ProviderOwner,
  publicUrl: string,
): ReadonlyMap<string, MountedProvider> {
  const cookies = journeyCookies(keepsSecureCookies(settings))
  return new Map(enabledOf(settings.providers).map(([name, own]) => [name, mounted(name, own)] as const))

  function mounted(name: string, own: ProviderSettings): MountedProvider {
    const provider = built.get(name)
    if (provider === undefined) throw new Error(`the provider ${name} is not built`)
    const { associateByEmail, verifiedByDefault, requiresVerification, trustsSecondFactor, redirects } = own
    const pages = { login: own.redirectUrl, link: own.redirectUrlAssociate }
    const prefixes = { login: own.prefix, link: own.associatePrefix }
    return {
      provider,
      policy: { associateByEmail, verifiedByDefault, requiresVerification, trustsSecondFactor },
      redirectUri: (flow) => pages[flow] ?? `${publicUrl}${prefixes[flow]}/callback`,
      redirects,
      checkedReturn: (given) =>
        checkedReturn(given, { ownOrigin: new URL(publicUrl).origin, allowedOrigins: settings.http.allowedOrigins }),
      failurePage: settings.pages.enabled ? `${publicUrl}/account` : null,
      factorPage: settings.pages.enabled ? `${publicUrl}/account/sign-in` : null,
      cookies,
      stateCodes: settings.compat.stateCodes,
      report: (failure, requestId) => reportProvider(log, name, failure, requestId),
    }
  }
}

/** The cookies beside the session cookie. Requests of other sites carry them if they carry a session cookie. */
export function loginCookiesOf({ id, settings, ports }: CookieOwner): {
  readonly deviceCookie: DeviceCookie
  readonly browserCookie: BrowserCookie
} {
  const isForOtherSites = enabledOf(settings.backends).some(
    ([, { transport }]) => transport.kind === 'cookie' && transport.sameSite === 'none',
  )
  const isSecure = keepsSecureCookies(settings)
  const sameSite = isForOtherSites ? 'none' : 'lax'
  const owner = id === defaultTenant ? '' : id
  return {
    deviceCookie: deviceCookie(ports.deviceTokens, { isSecure, sameSite, owner }),
    browserCookie: browserCookie({ isSecure, sameSite, newToken: ports.newToken }),
  }
}

/** Whether browsers keep Secure cookies of the service (W3C Secure Contexts section 3.1). */
function keepsSecureCookies({ http: { publicUrl, host } }: Settings): boolean {
  if (publicUrl === undefined) return isLoopback(host)
  const url = new URL(publicUrl)
  return url.protocol === 'https:' || leadsToLoopback(url)
}
