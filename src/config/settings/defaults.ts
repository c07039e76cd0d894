import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { domainToASCII } from 'node:url'
import { parseSender } from '../../adapters/addresses/parse-sender.ts'
import { isLoopback, leadsToLoopback } from '../../lib/loopback.ts'
import { titleOf } from '../plugins/providers.ts'
import { completeStore, type StoreSettings } from '../plugins/stores.ts'
import type { BackendSettings, GivenProvider, Sections, Settings } from './schema/schema.ts'
import { enabledOf } from './schema/tree.ts'

/** The settings without the defaults that depend on other settings. */
export interface Given
  extends Omit<
      Settings,
      'secret' | 'stores' | 'backends' | 'providers' | 'handlers' | 'mail' | 'try' | 'pages' | 'admin'
    >,
    Sections<'handlers' | 'mail' | 'try' | 'pages' | 'admin'> {
  readonly secret?: string
  readonly stores: {
    readonly users: StoreSettings
    readonly sessions: Partial<StoreSettings>
    readonly tokens: Partial<StoreSettings>
    readonly migrate: Settings['stores']['migrate']
  }
  readonly backends: Readonly<Record<string, Omit<BackendSettings, 'prefix'> & { readonly prefix?: string }>>
  readonly providers: Readonly<Record<string, GivenProvider>>
}

/** Fills in the defaults that depend on other settings. Relative paths start at `cwd`. */
export function completeSettings(given: Given, cwd: string): Settings {
  const { http, stores, backends, providers, handlers, mail } = given
  const firstBackend = enabledOf(backends)[0]?.[0] ?? ''
  const { module } = handlers
  const { name = null, logo, logoDark, logoWithName, css, color = null, contact = null } = given.pages
  const path = (file: string | undefined): string | null => (file === undefined ? null : resolve(cwd, file))
  const located = (store: StoreSettings): StoreSettings =>
    typeof store.module === 'string' ? { ...store, module: resolve(cwd, store.module) } : store
  const isTried = given.try.enabled ?? isLocal(http)
  const mailUrl = mail.url ?? (isTried && module === undefined ? 'mailbox:' : 'off')
  const hasPages = given.pages.enabled ?? ((isTried || mailUrl !== 'off') && canHavePages(given))
  const ehlo = mail.ehlo ?? ehloName(http.publicUrl, mail.from)
  return {
    ...given,
    dataFolder: resolve(cwd, given.dataFolder),
    secret: given.secret ?? null,
    stores: {
      users: located(stores.users),
      sessions: located(completeStore(stores.sessions, stores.users)),
      tokens: located(completeStore(stores.tokens, stores.users)),
      migrate: stores.migrate,
    },
    backends: Object.fromEntries(
      Object.entries(backends).map(([name, backend]) => [
        name,
        { ...backend, prefix: backend.prefix ?? `/auth/${name}` },
      ]),
    ),
    providers: Object.fromEntries(
      Object.entries(providers).map(([name, provider]) => [
        name,
        {
          ...provider,
          label: provider.label ?? titleOf(name),
          prefix: provider.prefix ?? `/auth/${name}`,
          associatePrefix: provider.associatePrefix ?? `/auth/associate/${name}`,
          backend: provider.backend ?? firstBackend,
        },
      ]),
    ),
    handlers: {
      module: path(module),
      console: handlers.console ?? (module === undefined && isLocal(http)),
      timeoutSeconds: handlers.timeoutSeconds,
    },
    mail: {
      ...mail,
      url: mailUrl,
      ...(ehlo !== undefined && { ehlo }),
      ...(mail.templates !== undefined && { templates: resolve(cwd, mail.templates) }),
    },
    try: { enabled: isTried },
    admin: { ...given.admin, enabled: given.admin.enabled ?? (hasPages && isLocal(http)) },
    pages: {
      enabled: hasPages,
      name,
      logo: path(logo),
      logoDark: path(logoDark),
      logoWithName,
      css: path(css),
      color,
      contact,
    },
  }
}

/** Many servers refuse a client whose name has no dot, and the literal of a loopback address. */
function ehloName(publicUrl: string | undefined, from: string | undefined): string | undefined {
  const host = publicUrl === undefined ? undefined : new URL(publicUrl).hostname
  const isName = host?.includes('.') && isIP(host) === 0 && !host.endsWith('.localhost')
  if (isName) return host
  const address = from === undefined ? null : parseSender(from)?.address
  return address == null ? undefined : domainToASCII(address.slice(address.lastIndexOf('@') + 1))
}

/** The pages need a cookie backend to log in, and the router `users` to show the account to everybody who can log in. */
export function canHavePages({ backends, routers: { users } }: Pick<Given, 'backends' | 'routers'>): boolean {
  const login = enabledOf(backends).find(([, { transport }]) => transport.kind === 'cookie')?.[1]
  return login !== undefined && users.enabled && (login.requiresVerification || !users.requiresVerification)
}

/** Whether only this machine reaches the service. The defaults for development apply only then. */
export function isLocal(http: Pick<Settings['http'], 'host' | 'publicUrl'>): boolean {
  return isLoopback(http.host) && !isPublic(http)
}

/** Whether the public URL leads browsers to another machine. */
export function isPublic({ publicUrl }: Pick<Settings['http'], 'publicUrl'>): boolean {
  return publicUrl !== undefined && !leadsToLoopback(new URL(publicUrl))
}
