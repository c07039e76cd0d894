import Type, { type Static, type TObject, type TSchema } from 'typebox'
import { formerOptions } from '../../../adapters/credentials/former-options.ts'
import { keyOptions } from '../../../adapters/credentials/signing/options.ts'
import { appsSchema } from '../../../adapters/http/apps/app-settings.ts'
import { pageOptions } from '../../../adapters/http/pages/account/page-options.ts'
import { compatOptions } from '../../../adapters/http/pipeline/answer-forms.ts'
import type { StoreRole } from '../../../adapters/stores/store-backend.ts'
import { idKinds } from '../../../domain/ids.ts'
import type { OptionsOf } from '../../plugins/plugin.ts'
import type { routers } from '../../plugins/routers.ts'
import type { StoreSettings } from '../../plugins/stores.ts'
import type { strategies } from '../../plugins/strategies.ts'
import type { transports } from '../../plugins/transports.ts'
import { events, handlers, mail } from './deliveries.ts'
import { prefix, seconds } from './fields.ts'
import { admin, docs, http, logs, metrics, tryPage } from './http.ts'
import { backendsSchema, type mounting, providersSchema, routersSchema, storeSchema } from './plugins.ts'
import { limits, passwords, security, tokens, users, verification } from './security.ts'
import { isGroup } from './tree.ts'

/** Lower case, because host names and MongoDB's database names ignore case. */
const tenantIdPattern = '^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$'

/** `load-tenants.ts` validates each tenant separately, because a fault in one tenant must not affect the others. */
const opaqueTenants = Type.Refine(
  Type.Unknown({
    expects: 'an object that holds the settings of each tenant by its name',
    otherwise: 'none',
    byEntry: true,
    description: 'The tenants by name, each with its own settings.',
  }),
  isGroup,
)

function tenantsSchema<List extends TSchema>(list: List) {
  return Type.Object({
    by: Type.Optional(
      Type.Enum(['header', 'path', 'host'], {
        otherwise: 'there are no tenants',
        description: 'How a request names its tenant.',
      }),
    ),
    header: Type.String({
      pattern: '^[A-Za-z0-9-]{1,64}$',
      expects: 'the name of a header: letters, digits and -',
      default: 'X-Tenant',
      description:
        'With `by: "header"`: the header with the name of the tenant. A proxy must set it, or remove it from requests of callers.',
    }),
    pathPrefix: prefix({
      default: '/t',
      description: 'With `by: "path"`: every path begins with this prefix and the tenant, as in `/t/{tenant}`.',
    }),
    folder: Type.Optional(
      Type.String({
        minLength: 1,
        expects: 'the path of a folder',
        otherwise: 'none',
        description: 'Folder with a file `<tenant>.json` for each tenant. You can use it with `list` or without.',
      }),
    ),
    list: Type.Optional(list),
    maxOpen: Type.Integer({
      minimum: 1,
      maximum: 100_000,
      default: 500,
      description: 'Limit of open tenants. Above it, the service closes the least recently used one.',
    }),
    idleSeconds: seconds(
      300,
      86_400,
      'The service closes a tenant without requests for this time, except one with a `memory` store.',
    ),
    scanSeconds: seconds(
      600,
      86_400,
      'Interval at which the service opens closed tenants, to find events of other processes.',
    ),
  })
}

/** A setting of tenants only. */
export const tenantHosts = Type.Array(
  Type.String({
    pattern: '^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$',
    expects: 'a host name in lower case, without port',
  }),
  { default: [], description: 'With `by: "host"`: the host names of the tenant.' },
)

const common = {
  http,
  dataFolder: Type.String({
    minLength: 1,
    expects: 'the path of a folder',
    default: './data',
    description: 'Folder of the SQLite file and of the generated secret. A relative path starts in the current folder.',
  }),
  secret: Type.Optional(
    Type.String({
      secret: true,
      otherwise: 'generated into the data folder with users in `memory`, `sqlite` or `module`, otherwise required',
      description:
        'Master secret of at least 32 bytes. All keys are derived from it. `openssl rand -base64 32` makes one.',
    }),
  ),
  formerSecrets: Type.Array(Type.String({ expects: 'a text' }), {
    secret: true,
    default: [],
    description:
      'Master secrets that open and verify, and sign nothing: while the secret changes, the next one and then the former one (`docs/stores.md#change-the-secret`). A file has one in each line.',
  }),
  stores: Type.Object({
    users: storeSchema('users'),
    sessions: storeSchema('sessions'),
    tokens: storeSchema('tokens'),
    migrate: Type.Enum(['start', 'command'], {
      default: 'start',
      description:
        'When a new release changes the stored data: at its `start`, or before it by the `command` `portcullis storage migrate`. With `command`, the service refuses to start with data that lack a change.',
    }),
  }),
  ids: Type.Enum(idKinds, {
    default: 'uuid',
    description:
      'Kind of the ids of users: UUIDs, counted integers or ObjectIds. The first start of their store fixes it (`docs/stores.md`).',
  }),
  backends: backendsSchema,
  routers: routersSchema,
  providers: providersSchema,
  apps: appsSchema,
  handlers,
  mail,
  events,
  passwords,
  tokens,
  keys: Type.Object(keyOptions),
  verification,
  security,
  users,
  limits,
  logs,
  metrics,
  docs,
  try: tryPage,
  pages: Type.Object(pageOptions),
  admin,
  compat: Type.Object({ ...compatOptions, ...formerOptions }),
}

/** The settings that may differ between tenants. */
export const tenantSchema = Type.Object({
  hosts: tenantHosts,
  ...Type.Omit(Type.Object(common), ['events', 'logs', 'metrics', 'docs']).properties,
  http: Type.Pick(http, ['publicUrl', 'allowedOrigins', 'allowedHeaders']),
  admin: Type.Pick(admin, ['enabled', 'allow']),
  passwords: Type.Omit(passwords, ['maxWaitSeconds', 'concurrency']),
})

const tenantList = Type.Record(Type.String({ pattern: tenantIdPattern }), tenantSchema)

/** The schema of the environment, which can also set the settings of each tenant. */
export const environmentSchema = Type.Object({ ...common, tenants: tenantsSchema(tenantList) })

/** The schema of given settings. A setting is optional in it if its default depends on others. */
export const settingsSchema = Type.Object({ ...common, tenants: tenantsSchema(opaqueTenants) })

export interface BackendSettings {
  readonly enabled: boolean
  readonly prefix: string
  readonly requiresVerification: boolean
  readonly logoutRequiresVerification: boolean
  readonly loginBy: readonly string[]
  readonly transport: OptionsOf<(typeof transports)[number]>
  readonly strategy: OptionsOf<(typeof strategies)[number]>
}

interface RouterSettings {
  readonly enabled: boolean
  readonly prefix: string
  /** Of the router `users` alone. */
  readonly requiresVerification?: boolean
}

/** The given settings of a provider, without the options of its kind. */
export type GivenProvider = { readonly kind: string } & Readonly<Static<TObject<typeof mounting>>>

export type ProviderSettings = GivenProvider &
  Required<Pick<GivenProvider, 'label' | 'prefix' | 'associatePrefix' | 'backend'>>

/** The given settings of some sections. */
export type Sections<Name extends keyof typeof common> = {
  readonly [Key in Name]: Readonly<Static<(typeof common)[Key]>>
}

/** Complete and valid settings. */
export interface Settings
  extends Sections<
    | 'http'
    | 'ids'
    | 'apps'
    | 'events'
    | 'passwords'
    | 'tokens'
    | 'keys'
    | 'verification'
    | 'security'
    | 'users'
    | 'limits'
    | 'logs'
    | 'metrics'
    | 'docs'
    | 'compat'
  > {
  /** An absolute path. */
  readonly dataFolder: string
  /** `null` if the service generates it into the data folder. */
  readonly secret: string | null
  readonly formerSecrets: readonly string[]
  readonly stores: Readonly<Record<StoreRole, StoreSettings>> & { readonly migrate: 'start' | 'command' }
  /** Enabled and disabled, in the order in which they are tried for a request. */
  readonly backends: Readonly<Record<string, BackendSettings>>
  readonly routers: Readonly<Record<(typeof routers)[number]['name'], RouterSettings>>
  /** Enabled and disabled, in order of declaration. */
  readonly providers: Readonly<Record<string, ProviderSettings>>
  readonly handlers: Readonly<{
    /** An absolute path; `null` without a module. */
    module: string | null
    console: boolean
    timeoutSeconds: number
  }>
  /** The folder of templates is an absolute path. */
  readonly mail: Sections<'mail'>['mail'] & { readonly url: string }
  readonly try: Readonly<{ enabled: boolean }>
  readonly admin: Sections<'admin'>['admin'] & { readonly enabled: boolean }
  readonly pages: Readonly<{
    enabled: boolean
    name: string | null
    /** Absolute paths. */
    logo: string | null
    logoDark: string | null
    logoWithName: boolean
    css: string | null
    color: string | null
    contact: string | null
  }>
  readonly tenants: Readonly<Static<ReturnType<typeof tenantsSchema<typeof opaqueTenants>>>>
}
