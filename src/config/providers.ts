import type { MountedProvider } from '../adapters/http/mounted-provider.ts'
import { oauthBrowser } from '../adapters/http/oauth-browser.ts'
import { appleKind } from '../adapters/oauth/apple.ts'
import { discordKind } from '../adapters/oauth/discord.ts'
import { facebookKind } from '../adapters/oauth/facebook.ts'
import { franceConnectKind } from '../adapters/oauth/franceconnect.ts'
import { githubKind } from '../adapters/oauth/github.ts'
import { gitlabKind } from '../adapters/oauth/gitlab.ts'
import { googleKind } from '../adapters/oauth/google.ts'
import { kakaoKind } from '../adapters/oauth/kakao.ts'
import type { ProviderNeeds } from '../adapters/oauth/kind.ts'
import { linkedinKind } from '../adapters/oauth/linkedin.ts'
import { microsoftKind } from '../adapters/oauth/microsoft.ts'
import { naverKind } from '../adapters/oauth/naver.ts'
import { oauth2Kind } from '../adapters/oauth/oauth2.ts'
import { oktaKind } from '../adapters/oauth/okta.ts'
import { openIdConnectKind } from '../adapters/oauth/openid-connect.ts'
import { redditKind } from '../adapters/oauth/reddit.ts'
import { shopifyKind } from '../adapters/oauth/shopify.ts'
import { CodeRefused } from '../application/ports/oauth-provider.ts'
import { oauthStateSeconds } from '../application/start-oauth.ts'
import { defaultTenant } from './default-tenant.ts'
import { enabledOf } from './enabled.ts'
import type { Logger } from './log.ts'
import { build } from './options-part.ts'
import { isLoopback, leadsToLoopback } from './public-url.ts'
import type { ProviderSettings, Settings } from './settings.ts'

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

interface Needs extends Omit<ProviderNeeds, 'name'> {
  /** Known once the service listens. */
  readonly publicUrl: () => string
  readonly tenant: string
  readonly log: Logger
}

/** The providers that are enabled, by name. */
export function mountedProviders(settings: Settings, { tenant, log, ...needs }: Needs): Map<string, MountedProvider> {
  const { host, publicUrl } = settings.http
  const isSecure = publicUrl === undefined ? isLoopback(host) : isTrustworthy(new URL(publicUrl))
  const browser = oauthBrowser(isSecure, oauthStateSeconds, tenant === defaultTenant ? '' : tenant)
  return new Map(enabledOf(settings.providers).map(([name, provider]) => [name, mounted(name, provider)]))

  function mounted(name: string, provider: ProviderSettings): MountedProvider {
    const { associateByEmail, verifiedByDefault, requiresVerification, redirects } = provider
    const pages = { login: provider.redirectUrl, link: provider.redirectUrlAssociate }
    const prefixes = { login: provider.prefix, link: provider.associatePrefix }
    return {
      provider: build(providers, provider, { ...needs, name }),
      policy: { associateByEmail, verifiedByDefault, requiresVerification },
      redirectUri: (flow) => pages[flow] ?? `${needs.publicUrl()}${prefixes[flow]}/callback`,
      redirects,
      browser,
      postsCallback: providers.some((one) => one.kind === provider.kind && 'postsCallback' in one),
      report(failure, requestId) {
        const what = failure instanceof CodeRefused ? 'a provider refused' : 'a provider failed'
        log.warn({ requestId, provider: name, cause: failure.message }, what)
      },
    }
  }
}

/** Where browsers keep Secure cookies (W3C Secure Contexts section 3.1). */
function isTrustworthy(url: URL): boolean {
  return url.protocol === 'https:' || leadsToLoopback(url)
}
