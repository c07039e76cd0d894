import type { Router } from '../../../adapters/http/endpoint.ts'
import { accountRouter } from '../../../adapters/http/pages/account/account-router.ts'
import type { PageProvider } from '../../../adapters/http/pages/account/page-data.ts'
import type { Site } from '../../../adapters/http/pages/account/site.ts'
import { frontDoorRouter } from '../../../adapters/http/pages/front-door.ts'
import { hasTryPage } from '../../../adapters/http/pages/try-page.ts'
import { isLocal } from '../../settings/defaults.ts'
import type { Settings } from '../../settings/schema/schema.ts'
import { enabledOf } from '../../settings/schema/tree.ts'

interface Served {
  readonly publicUrl: () => string
  readonly hasMailbox: boolean
}

/** The pages for accounts and the start page, as far as the settings enable them. */
export function pageRouters(settings: Settings, { publicUrl, hasMailbox }: Served): Router[] {
  const account = settings.pages.enabled ? [accountRouter(siteOf(settings), publicUrl)] : []
  const isDevelopment = settings.try.enabled && hasTryPage && isLocal(settings.http)
  if (account.length === 0 && !isDevelopment) return []
  const development = isDevelopment ? { docs: settings.docs.enabled, mailbox: hasMailbox } : null
  return [...account, frontDoorRouter({ account: account.length > 0, development }, publicUrl)]
}

function siteOf({ http, pages, backends, routers, passwords, providers, mail }: Settings): Site {
  const { name, logo, color, css } = pages
  const cookie = enabledOf(backends).find(([, { transport }]) => transport.kind === 'cookie')?.[1]
  if (cookie === undefined) throw new Error('the pages need a cookie backend') // the settings were checked
  const prefixOf = ({ enabled, prefix }: Settings['routers'][keyof Settings['routers']]) => (enabled ? prefix : null)
  return {
    name,
    logo,
    color,
    css,
    minPasswordLength: passwords.minLength,
    allowedOrigins: http.allowedOrigins,
    sendsLinkOnSignUp: mail.url !== 'off' && mail.verifyOnRegister && mail.messages.verify,
    routes: {
      login: cookie.prefix,
      users: routers.users.prefix,
      register: prefixOf(routers.register),
      resetPassword: prefixOf(routers.resetPassword),
      verify: prefixOf(routers.verify),
    },
    providers: enabledOf(providers).map(([provider, own]): PageProvider => {
      const isByCookie = backends[own.backend]?.transport.kind === 'cookie'
      return {
        name: provider,
        title: titleOf(provider),
        login: isByCookie && own.redirectUrl === undefined ? own.prefix : null,
        associate: own.redirectUrlAssociate === undefined ? own.associatePrefix : null,
      }
    }),
  }
}

/** The place where the browser returns from the provider: the page, our callback, which redirects to it, or another. */
type ComesBack = 'to this page' | 'by redirect' | 'elsewhere'

/** The settings that the page at `/try` needs. */
export function tryConfig({ backends, routers, providers, docs }: Settings, publicUrl: string) {
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
    docs: docs.enabled,
    routers: Object.fromEntries(
      Object.entries(routers).map(([name, router]) => [name, router.enabled ? router.prefix : null]),
    ),
    providers: enabledOf(providers).map(([name, provider]) => ({
      name,
      title: titleOf(name),
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

const titles: Readonly<Record<string, string>> = {
  github: 'GitHub',
  gitlab: 'GitLab',
  linkedin: 'LinkedIn',
  franceconnect: 'FranceConnect',
}

/** The name of a provider for people. */
function titleOf(name: string): string {
  return titles[name] ?? name.charAt(0).toUpperCase() + name.slice(1)
}
