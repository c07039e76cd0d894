import Type, { type Static, type TSchema } from 'typebox'
import type { StoreRole } from '../adapters/stores/backend.ts'
import type { OptionsOf, OptionsPart } from './options-part.ts'
import type { builtInParts, Parts } from './parts.ts'
import { maxLifetimeSeconds } from './strategies.ts'

/**
 * What our schemas say beside JSON Schema. `expects` completes "must be …" in faults, `otherwise` names a
 * default that depends on other settings, `secret` is never printed and may come from a file.
 */
export interface Annotations {
  readonly description?: string
  readonly default?: unknown
  readonly expects?: string
  readonly otherwise?: string
  readonly secret?: boolean
  readonly minimum?: number
  readonly maximum?: number
}

export function annotations(schema: TSchema): Annotations {
  // Safe: TypeBox keeps options it does not know as given, and in src/config they are written as above.
  return schema as Annotations
}

/** Whether `text` is written exactly as browsers write an origin: `https://app.example.com`, no path, no slash. */
function isOrigin(text: string): boolean {
  if (!/^https?:/.test(text) || !URL.canParse(text)) return false
  return new URL(text).origin === text
}

const originExample = 'an origin as browsers write it (https://app.example.com: lower case, no path, no final /)'

const origin = (options: Annotations) =>
  Type.Refine(Type.String({ expects: originExample, ...options }), (text) => isOrigin(text))

const prefix = (options: Annotations) =>
  Type.String({
    pattern: '^(/(?!\\.{1,2}(/|$))[A-Za-z0-9._~-]+)+$',
    expects: 'a path such as /auth: a / before each part, none at the end, only letters, digits, - . _ ~',
    description: 'Path in front of the routes.',
    ...options,
  })

const enabled = (description: string) => Type.Boolean({ default: true, description })

const seconds = (standard: number, maximum: number, description: string) =>
  Type.Integer({ minimum: 1, maximum, default: standard, description })

const http = Type.Object({
  host: Type.String({
    pattern: '^([A-Za-z0-9_.-]+|[0-9A-Fa-f:.]+(%[A-Za-z0-9]+)?)$',
    expects: 'a host name or an IP address, without port and brackets',
    default: '127.0.0.1',
    description: 'Address to listen on; `0.0.0.0` or `::` for all.',
  }),
  port: Type.Integer({
    minimum: 0,
    maximum: 65_535,
    default: 3000,
    description: 'Port to listen on; `0` takes any free one and prints it.',
  }),
  publicUrl: Type.Optional(
    origin({
      otherwise: '`http://localhost:<port>` on loopback, elsewhere required',
      description: 'Origin under which browsers reach the service.',
    }),
  ),
  allowedOrigins: Type.Array(origin({}), {
    default: [],
    description: 'Origins of front ends that may call the service with credentials (CORS). Never `*` or `null`.',
  }),
})

const handlers = Type.Object({
  module: Type.Optional(
    Type.String({
      minLength: 1,
      expects: 'the path of a file',
      otherwise: 'none',
      description: 'ES module whose exports are handlers by their names (`on_after_register`, …).',
    }),
  ),
  console: Type.Optional(
    Type.Boolean({
      otherwise: 'on when listening on loopback without a module',
      description: 'Prints every event, with its tokens, as one JSON line on standard output.',
    }),
  ),
  timeoutSeconds: Type.Number({
    minimum: 0.05,
    maximum: 3600,
    default: 10,
    description: 'A handler that takes longer has failed and is called again.',
  }),
})

const passwords = Type.Object({
  minLength: Type.Integer({
    // NIST SP 800-63B-4 section 3.1.1.2: not below 8; NIST asks for room up to 64 at least.
    minimum: 8,
    maximum: 64,
    default: 8,
    description: 'Least number of characters of a new password.',
  }),
  maxWaitSeconds: Type.Number({
    minimum: 0,
    maximum: 3600,
    default: 3,
    description: 'When hashing a password would have to wait longer, the answer is 503 with `Retry-After`.',
  }),
  concurrency: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1024,
      otherwise: 'by the processors at hand',
      description: 'Lanes hashing at a time; a hash takes as many as `parallelism` says.',
    }),
  ),
  memoryKiB: Type.Integer({
    minimum: 7168,
    maximum: 4_194_304,
    default: 19_456,
    description: 'Memory of one argon2id hash, in KiB.',
  }),
  timeCost: Type.Integer({ minimum: 1, maximum: 100, default: 2, description: 'Passes of one argon2id hash.' }),
  parallelism: Type.Integer({ minimum: 1, maximum: 16, default: 1, description: 'Lanes of one argon2id hash.' }),
})

const tokens = Type.Object({
  // NIST SP 800-63B-4 section 4.2.1.2: a code sent by e-mail lives at most 24 hours.
  resetLifetimeSeconds: seconds(900, 86_400, 'Life of a token that resets a password.'),
  verifyLifetimeSeconds: seconds(86_400, 30 * 86_400, 'Life of a token that verifies an address.'),
})

const security = Type.Object({
  freshLoginSeconds: Type.Integer({
    minimum: 0,
    maximum: maxLifetimeSeconds,
    default: 0,
    description:
      'A new password or address needs `current_password` or a login younger than this; `0` turns the demand off.',
  }),
})

const logs = Type.Object({
  level: Type.Enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], {
    default: 'info',
    description: 'Least level of a line in the log (standard error).',
  }),
  requests: Type.Enum(['slow', 'all'], {
    default: 'slow',
    description: 'Requests that get a line: those that fail or take more than 250 ms, or all.',
  }),
})

const docs = Type.Object({ enabled: enabled('Whether `/docs` and `/openapi.json` are served.') })

const tryPage = Type.Object({
  enabled: Type.Optional(
    Type.Boolean({
      otherwise: 'on when listening on loopback',
      description: 'Whether `/try` is served: a page to try the service on, `examples/browser`.',
    }),
  ),
})

function storeSchema(role: StoreRole, stores: Parts['storeKinds']) {
  const kinds = stores.filter(({ roles }) => roles.includes(role)).map(({ kind }) => kind)
  const kind = Type.Enum(kinds, {
    ...(role === 'users' ? { default: 'sqlite' } : { otherwise: 'as users' }),
    description: `Where ${role === 'tokens' ? 'one-time tokens' : role} are kept.`,
  })
  return Type.Object({
    kind: role === 'users' ? kind : Type.Optional(kind),
    url: Type.Optional(
      Type.String({
        secret: true,
        expects: 'an address such as mongodb://host/name or redis://host',
        otherwise: role === 'users' ? 'none' : "the users' one where the kind is the same",
        description: 'Address of a store that is a server of its own.',
      }),
    ),
  })
}

function listed(words: readonly string[]): string {
  return words.map((word) => `\`${word}\``).join(', ')
}

function routersSchema(routers: Parts['routers']) {
  return Type.Object(
    Object.fromEntries(
      routers.map((router) => [
        router.name,
        Type.Object({
          enabled: enabled(`${router.description}: ${listed(router.operations)}.`),
          prefix: prefix({ default: router.prefix }),
        }),
      ]),
    ),
  )
}

/** One of several kinds of options, told apart by `kind`. */
function oneOf(parts: readonly OptionsPart[], description: string) {
  return Type.Union(
    parts.map(({ kind, options }) => Type.Object({ kind: Type.Literal(kind), ...options })),
    { description },
  )
}

function backendsSchema(parts: Parts) {
  const backend = Type.Object({
    enabled: enabled('`false` removes the backend.'),
    prefix: Type.Optional(prefix({ otherwise: '`/auth/<name>`' })),
    requiresVerification: Type.Boolean({
      default: false,
      description: 'Its login refuses users whose address is not verified.',
    }),
    transport: oneOf(parts.transports, 'How the credential travels'),
    strategy: oneOf(parts.strategies, 'What the credential is'),
  })
  const name = Type.String({ pattern: '^(?!(associate|register|verify|forgot|reset)$)[a-z][a-z0-9]*$' })
  return Type.Record(name, backend, {
    expects: 'lower-case letters and digits, a letter first, and not associate, register, verify, forgot or reset',
    default: {
      jwt: { transport: { kind: 'bearer' }, strategy: { kind: 'jwt' } },
      cookie: { transport: { kind: 'cookie' }, strategy: { kind: 'stored' } },
    },
  })
}

const page = (description: string, otherwise: string) =>
  Type.Optional(
    Type.Refine(
      Type.String({ expects: 'the address of a page: http or https, without #', otherwise, description }),
      (text) => /^https?:/.test(text) && URL.canParse(text) && new URL(text).hash === '',
    ),
  )

/** What every provider has, whatever its kind. */
const mounting = {
  enabled: enabled('`false` removes the provider.'),
  prefix: Type.Optional(prefix({ otherwise: '`/auth/<name>`' })),
  associatePrefix: Type.Optional(
    prefix({ otherwise: '`/auth/associate/<name>`', description: 'Path in front of the routes that link accounts.' }),
  ),
  backend: Type.Optional(
    Type.String({
      minLength: 1,
      expects: 'the name of a backend',
      otherwise: 'the first one',
      description: 'Whose login response a successful callback is.',
    }),
  ),
  associateByEmail: Type.Boolean({
    default: false,
    description: 'Links to the user with the same address, where both the provider and we have verified it.',
  }),
  verifiedByDefault: Type.Boolean({
    default: false,
    description: 'New users count as verified, where the provider vouches for the address.',
  }),
  requiresVerification: Type.Boolean({ default: false, description: 'Refuses users whose address is not verified.' }),
  redirects: Type.Object({
    success: page('Where a login goes on to, in place of a JSON answer.', 'none'),
    linked: page('Where linking goes on to, in place of a JSON answer.', 'none'),
    failure: page('Where a refusal goes on to, with `?error=CODE`.', 'none'),
  }),
  redirectUrl: page('Page of the front end that calls our callback by fetch.', 'our callback'),
  redirectUrlAssociate: page('The same for linking.', 'our callback for linking'),
}

function providersSchema(parts: Parts) {
  const provider = Type.Union(
    parts.providers.map(({ kind, options }) => Type.Object({ kind: Type.Literal(kind), ...options, ...mounting })),
    { description: 'A provider to sign in with' },
  )
  const name = Type.String({ pattern: '^(?!(associate|register|verify|forgot|reset)$)[a-z][a-z0-9]*$' })
  return Type.Record(name, provider, {
    expects: 'lower-case letters and digits, a letter first, and not associate, register, verify, forgot or reset',
    default: {},
  })
}

/** The schema of the settings as given: what has a default that depends on others is optional in it. */
export function settingsSchema(parts: Parts) {
  return Type.Object({
    http,
    dataFolder: Type.String({
      minLength: 1,
      expects: 'the path of a folder',
      default: './data',
      description: 'Folder of the SQLite file and of the generated secret, from where the service is started.',
    }),
    secret: Type.Optional(
      Type.String({
        secret: true,
        otherwise: 'generated into the data folder with users in `memory` or `sqlite`, otherwise required',
        description: 'Master secret, at least 32 bytes, from which all keys are derived: `openssl rand -base64 32`.',
      }),
    ),
    stores: Type.Object({
      users: storeSchema('users', parts.storeKinds),
      sessions: storeSchema('sessions', parts.storeKinds),
      tokens: storeSchema('tokens', parts.storeKinds),
    }),
    backends: backendsSchema(parts),
    routers: routersSchema(parts.routers),
    providers: providersSchema(parts),
    handlers,
    passwords,
    tokens,
    security,
    logs,
    docs,
    try: tryPage,
  })
}

export type SettingsSchema = ReturnType<typeof settingsSchema>

export interface StoreSettings {
  readonly kind: string
  /** Absent for a store that lives in the process or in the data folder. */
  readonly url?: string
}

export type TransportSettings = OptionsOf<(typeof builtInParts)['transports'][number]>
export type StrategySettings = OptionsOf<(typeof builtInParts)['strategies'][number]>

export interface BackendSettings {
  readonly enabled: boolean
  readonly prefix: string
  readonly requiresVerification: boolean
  readonly transport: TransportSettings
  readonly strategy: StrategySettings
}

/** How a provider is mounted; what else its kind wants is for the kind to read. */
export interface ProviderSettings {
  readonly kind: string
  readonly enabled: boolean
  readonly prefix: string
  readonly associatePrefix: string
  /** Name of an enabled backend. */
  readonly backend: string
  readonly associateByEmail: boolean
  readonly verifiedByDefault: boolean
  readonly requiresVerification: boolean
  readonly redirects: Readonly<Static<typeof mounting.redirects>>
  readonly redirectUrl?: string
  readonly redirectUrlAssociate?: string
}

export interface RouterSettings {
  readonly enabled: boolean
  readonly prefix: string
}

export type RouterName = (typeof builtInParts)['routers'][number]['name']

/** Settings that are complete and fit together: the schema's, with the defaults that depend on others filled in. */
export interface Settings {
  readonly http: Readonly<Static<typeof http>>
  /** Absolute. */
  readonly dataFolder: string
  /** `null` when one is to be generated into the data folder. */
  readonly secret: string | null
  readonly stores: Readonly<Record<StoreRole, StoreSettings>>
  /** In order of declaration, which is the order of authentication; disabled ones among them. */
  readonly backends: Readonly<Record<string, BackendSettings>>
  readonly routers: Readonly<Record<RouterName, RouterSettings>>
  /** In order of declaration; disabled ones among them. */
  readonly providers: Readonly<Record<string, ProviderSettings>>
  readonly handlers: Readonly<{
    /** Absolute path of the module; `null` without one. */
    module: string | null
    console: boolean
    timeoutSeconds: number
  }>
  readonly passwords: Readonly<Static<typeof passwords>>
  readonly tokens: Readonly<Static<typeof tokens>>
  readonly security: Readonly<Static<typeof security>>
  readonly logs: Readonly<Static<typeof logs>>
  readonly docs: Readonly<Static<typeof docs>>
  readonly try: Readonly<{ enabled: boolean }>
}
