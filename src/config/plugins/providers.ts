import { oauthBrowser } from '../../adapters/http/oauth/journey-cookie.ts'
import type { MountedProvider } from '../../adapters/http/oauth/mounted-provider.ts'
import type { ProviderNeeds } from '../../adapters/oauth/kind.ts'
import { oauth2Kind } from '../../adapters/oauth/oauth2.ts'
import { openIdConnectKind } from '../../adapters/oauth/openid-connect.ts'
import { appleKind } from '../../adapters/oauth/presets/apple.ts'
import { discordKind } from '../../adapters/oauth/presets/discord.ts'
import { facebookKind } from '../../adapters/oauth/presets/facebook.ts'
import { franceConnectKind } from '../../adapters/oauth/presets/franceconnect.ts'
import { githubKind } from '../../adapters/oauth/presets/github.ts'
import { gitlabKind } from '../../adapters/oauth/presets/gitlab.ts'
import { googleKind } from '../../adapters/oauth/presets/google.ts'
import { kakaoKind } from '../../adapters/oauth/presets/kakao.ts'
import { linkedinKind } from '../../adapters/oauth/presets/linkedin.ts'
import { microsoftKind } from '../../adapters/oauth/presets/microsoft.ts'
import { naverKind } from '../../adapters/oauth/presets/naver.ts'
import { oktaKind } from '../../adapters/oauth/presets/okta.ts'
import { redditKind } from '../../adapters/oauth/presets/reddit.ts'
import { shopifyKind } from '../../adapters/oauth/presets/shopify.ts'
import { oauthStateSeconds } from '../../application/oauth/start-oauth.ts'
import { CodeRefused, type OAuthProvider, type ProviderFailed } from '../../application/ports/oauth-provider.ts'
import type { Logger } from '../runtime/log.ts'
import { defaultTenant } from '../settings/default-tenant.ts'
import { enabledOf } from '../settings/schema/enabled.ts'
import type { ProviderSettings, Settings } from '../settings/schema/schema.ts'
import { isLoopback, leadsToLoopback } from '../tenancy/public-url.ts'
import { build } from './plugin.ts'

/** Every kind of provider. */
export const providers = [
  oauth2Kind,
  openIdConnectKind,
  appleKind,
  discordKind,
  facebookKind,
  franceConnectKind,
  githubKind,
  gitlabKind,
  googleKind,
  kakaoKind,
  linkedinKind,
  microsoftKind,
  naverKind,
  oktaKind,
  redditKind,
  shopifyKind,
] as const

/** The providers that are enabled, by name, in order of declaration. */
export function providersOf(
  settings: Settings['providers'],
  needs: Omit<ProviderNeeds, 'name'>,
): ReadonlyMap<string, OAuthProvider> {
  return new Map(
    enabledOf(settings).map(([name, provider]) => [name, build(providers, provider, { ...needs, name })] as const),
  )
}

interface Tenant {
  readonly id: string
  readonly settings: Settings
  readonly log: Logger
  readonly providers: ReadonlyMap<string, OAuthProvider>
}

/**
 * The providers of a tenant with what its routes need besides, by name.
 *
 * @param publicUrl known once the service listens
 */
export function mountedProviders(
  { id, settings, log, providers: built }: Tenant,
  publicUrl: () => string,
): Map<string, MountedProvider> {
  const { http } = settings
  const isSecure = http.publicUrl === undefined ? isLoopback(http.host) : isTrustworthy(new URL(http.publicUrl))
  const browser = oauthBrowser(isSecure, oauthStateSeconds, id === defaultTenant ? '' : id)
  return new Map(enabledOf(settings.providers).map(([name, own]) => [name, mounted(name, own)]))

  function mounted(name: string, own: ProviderSettings): MountedProvider {
    const provider = built.get(name)
    if (provider === undefined) throw new Error(`the provider ${name} is not built`)
    const { associateByEmail, verifiedByDefault, requiresVerification, redirects } = own
    const pages = { login: own.redirectUrl, link: own.redirectUrlAssociate }
    const prefixes = { login: own.prefix, link: own.associatePrefix }
    return {
      provider,
      policy: { associateByEmail, verifiedByDefault, requiresVerification },
      redirectUri: (flow) => pages[flow] ?? `${publicUrl()}${prefixes[flow]}/callback`,
      redirects,
      browser,
      postsCallback: providers.some((one) => one.kind === own.kind && 'postsCallback' in one),
      report: (failure, requestId) => reportProvider(log, name, failure, requestId),
    }
  }
}

/** Tells the operator why a provider refused or could not be used. */
export function reportProvider(
  log: Logger,
  provider: string,
  failure: CodeRefused | ProviderFailed,
  requestId?: string,
): void {
  const what = failure instanceof CodeRefused ? 'a provider refused' : 'a provider failed'
  log.warn({ requestId, provider, cause: failure.message }, what)
}

/** Where browsers keep Secure cookies (W3C Secure Contexts section 3.1). */
function isTrustworthy(url: URL): boolean {
  return url.protocol === 'https:' || leadsToLoopback(url)
}
