import { titledLoginField } from '../../adapters/fields/login-field.ts'
import type { PageProvider } from '../../adapters/http/pages/account/page-data.ts'
import { markPath, type Site } from '../../adapters/http/pages/account/site.ts'
import { marks } from '../../adapters/oauth/marks.ts'
import { basePathOf } from '../../lib/base-path.ts'
import { hasApps } from '../settings/mounts.ts'
import type { Settings } from '../settings/schema/schema.ts'
import { enabledOf } from '../settings/schema/tree.ts'
import { contactOf } from './mail.ts'
import type { Tenant } from './tenant.ts'

/** The settings and paths that the account pages of a tenant show. */
export function siteOf({ settings, ports }: Tenant, publicUrl: string): Site {
  const { http, pages, backends, routers, passwords, providers, mail, users } = settings
  const { name, logo, logoDark, logoWithName, color, css } = pages
  const cookie = enabledOf(backends).find(([, { transport }]) => transport.kind === 'cookie')?.[1]
  if (cookie === undefined) throw new Error('the pages need a cookie backend') // the settings were checked
  const base = basePathOf(publicUrl)
  const kinds = new Set(enabledOf(providers).map(([, { kind }]) => kind))
  const used = Object.fromEntries(Object.entries(marks).filter(([kind]) => kinds.has(kind)))
  const prefixIfEnabled = ({ enabled, prefix }: Settings['routers'][keyof Settings['routers']]) =>
    enabled ? prefix : null
  return {
    name,
    logo,
    logoDark,
    logoWithName,
    color,
    css,
    contact: contactOf(settings),
    minPasswordLength: passwords.minLength,
    passkeys: routers.factors.enabled && ports.passkeys.rpId !== null,
    trustedBrowserDays: settings.security.trustedBrowserDays,
    allowedOrigins: http.allowedOrigins,
    hasApps: hasApps(settings),
    allowsExport: users.selfExport,
    allowsDeletion: users.selfDeletion,
    loginField: titledLoginField(cookie, users.fields),
    fields: [...ports.fieldRules.fields.values()],
    sendsLinkOnSignUp: mail.url !== 'off' && mail.verifyOnRegister && mail.messages.verify,
    marks: used,
    routes: {
      login: cookie.prefix,
      users: routers.users.prefix,
      register: prefixIfEnabled(routers.register),
      resetPassword: prefixIfEnabled(routers.resetPassword),
      verify: prefixIfEnabled(routers.verify),
      factors: routers.factors.enabled,
    },
    providers: enabledOf(providers).map(([provider, own]): PageProvider => {
      const isByCookie = backends[own.backend]?.transport.kind === 'cookie'
      return {
        name: provider,
        label: own.label,
        icon: own.icon ?? (own.kind in used ? `${base}${markPath(own.kind)}` : null),
        login: isByCookie && own.redirectUrl === undefined ? own.prefix : null,
        associate: own.redirectUrlAssociate === undefined ? own.associatePrefix : null,
      }
    }),
  }
}
