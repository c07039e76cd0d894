import type { ComesBack, TryConfig } from '../../adapters/http/pages/try-page.ts'
import { enabledOf } from '../settings/schema/enabled.ts'
import type { Settings } from '../settings/schema/schema.ts'

/** What the page at `/try` gets to know of the settings. */
export function tryConfig({ backends, routers, providers }: Settings, publicUrl: string): TryConfig {
  const isHere = (page: string | undefined): boolean => {
    if (page === undefined) return false
    const { origin, pathname } = new URL(page)
    return `${origin}${pathname}` === `${publicUrl}/try`
  }
  const comesBack = (byProvider: string | undefined, byUs: string | undefined): ComesBack => {
    if (byProvider !== undefined) return isHere(byProvider) ? 'to this page' : 'elsewhere'
    return isHere(byUs) ? 'by redirect' : 'elsewhere'
  }
  return {
    backends: enabledOf(backends).map(([name, { transport, prefix }]) => ({ name, transport: transport.kind, prefix })),
    routers: Object.fromEntries(
      Object.entries(routers).map(([name, router]) => [name, router.enabled ? router.prefix : null]),
    ),
    providers: enabledOf(providers).map(([name, provider]) => ({
      name,
      backend: provider.backend,
      prefix: provider.prefix,
      associatePrefix: provider.associatePrefix,
      comesBack: {
        login: comesBack(provider.redirectUrl, provider.redirects.success),
        link: comesBack(provider.redirectUrlAssociate, provider.redirects.linked),
      },
    })),
  }
}
