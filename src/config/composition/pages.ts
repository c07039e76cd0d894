import type { Router } from '../../adapters/http/endpoint.ts'
import { accountRouter } from '../../adapters/http/pages/account/account-router.ts'
import { frontDoorRouter } from '../../adapters/http/pages/front-door.ts'
import { mailboxRouter } from '../../adapters/http/pages/mailbox-page.ts'
import { comingBack, hasTryPage, tryRouter } from '../../adapters/http/pages/try-page.ts'
import { wellKnownRouter } from '../../adapters/http/pages/well-known.ts'
import type { FieldRules } from '../../domain/fields.ts'
import { basePathOf } from '../../lib/base-path.ts'
import { withoutLinks } from '../../lib/linked-text.ts'
import { isLocal } from '../settings/defaults.ts'
import type { Mount } from '../settings/mounts.ts'
import type { Settings } from '../settings/schema/schema.ts'
import { enabledOf } from '../settings/schema/tree.ts'
import type { LoadedCode } from './routers.ts'
import { siteOf } from './site.ts'
import type { Tenant } from './tenant.ts'

interface Needs {
  readonly publicUrl: string
  /** `null` where the process shows no mailbox. */
  readonly mailboxKey: string | null
  readonly code: LoadedCode
}

type Pages = { readonly [Part in Mount['part']]?: () => Router<unknown> | null }

/** Builds the pages of a tenant. `null`: this process has no such page. */
export function pageRouters(tenant: Tenant, { publicUrl, mailboxKey, code }: Needs): Pages {
  const { settings, ports, mailbox, signingKeys } = tenant
  const account = settings.pages.enabled
  const kept = mailboxKey === null ? null : mailbox
  return {
    account: () => accountRouter(siteOf(tenant, publicUrl), publicUrl),
    frontDoor() {
      const isDevelopment = settings.try.enabled && hasTryPage && isLocal(settings.http)
      if (!account && !isDevelopment) return null
      const hasConsole = settings.admin.enabled && settings.admin.port === undefined
      const key = kept && mailboxKey
      const development = isDevelopment ? { docs: docsPathOf(settings), mailboxKey: key, hasConsole } : null
      return frontDoorRouter({ account, development }, publicUrl)
    },
    try: () => tryRouter({ publicUrl, config: tryConfig(settings, ports.fieldRules, publicUrl) }),
    mailbox: () => (kept === null || mailboxKey === null ? null : mailboxRouter({ mailbox: kept, key: mailboxKey })),
    keys() {
      const signIn = code.apps?.descriptionFor(publicUrl) ?? null
      const { cacheSeconds } = settings.keys
      return wellKnownRouter({ issuer: publicUrl, published: signingKeys.published, cacheSeconds, signIn })
    },
    console: () => code.console?.pagesOf(tenant, publicUrl) ?? null,
  }
}

/** The documents belong to no tenant, so their path has none. `null` if they are off. */
function docsPathOf({ docs, http }: Settings): string | null {
  return docs.enabled ? `${basePathOf(http.publicUrl)}/docs` : null
}

/** The settings that the page at `/try` needs. */
function tryConfig(settings: Settings, { fields }: FieldRules, publicUrl: string) {
  const { backends, routers, providers } = settings
  const comesBack = comingBack(publicUrl)
  return {
    backends: enabledOf(backends).map(([name, { transport, prefix }]) => ({ name, transport: transport.kind, prefix })),
    docs: docsPathOf(settings),
    requiredFields: [...fields.values()]
      .filter(({ atRegistration }) => atRegistration === 'required')
      .map(({ name, title, type, options }) => ({ name, title: withoutLinks(title.en ?? name), type, options })),
    routers: Object.fromEntries(
      Object.entries(routers).map(([name, router]) => [name, router.enabled ? router.prefix : null]),
    ),
    providers: enabledOf(providers).map(([name, provider]) => ({
      name,
      title: provider.label,
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
