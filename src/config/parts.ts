import Type, { type Static, type TObject, type TProperties } from 'typebox'
import type { StoreBackend } from '../adapters/stores/backend.ts'
import { stores } from './stores.ts'

/** What the settings need to know of a store. */
export type StoreKind = Omit<StoreBackend, 'open'>

/** An option of a part that does not go with its other options. */
export interface Objection {
  readonly option: string
  readonly message: string
}

/** What the settings need to know of a transport or a strategy. */
export interface OptionsPart {
  readonly kind: string
  readonly options: TProperties
  /** Judges options that are right each by itself. */
  objections?(options: unknown): Objection[]
}

/** What the settings need to know of a router. */
export interface RouterPart {
  readonly name: string
  readonly description: string
  readonly prefix: string
  /** `METHOD /path` below the prefix, so that two routers are never mounted on one path. */
  readonly operations: readonly string[]
}

/** Everything that can be plugged in. The schema of the settings follows from it. */
export interface Parts {
  readonly storeKinds: readonly StoreKind[]
  readonly transports: readonly OptionsPart[]
  readonly strategies: readonly OptionsPart[]
  readonly routers: readonly RouterPart[]
  /** Operations of the router that every backend has. */
  readonly backendOperations: readonly string[]
  /** Operations outside all routers, whose paths nobody else may claim. */
  readonly serviceOperations: readonly string[]
}

/** Keeps the literal kind and the options' types of a part, for `TransportSettings` and `StrategySettings`. */
function part<const Kind extends string, Options extends TProperties>(given: {
  kind: Kind
  options: Options
  objections?(options: Static<TObject<Options>>): Objection[]
}) {
  return given
}

/** Browsers keep no cookie for longer (RFC 6265bis section 5.5: at most 400 days). */
export const maxLifetimeSeconds = 400 * 86_400

const lifetime = (seconds: number, description: string) =>
  Type.Integer({ minimum: 1, maximum: maxLifetimeSeconds, default: seconds, description })

const bearer = part({ kind: 'bearer', options: {} })

const cookie = part({
  kind: 'cookie',
  options: {
    name: Type.String({
      // A token of RFC 9110 section 5.6.2.
      pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$",
      expects: 'a cookie name: letters, digits, - and _, at most 64',
      default: '__Host-session',
      description: 'Name of the cookie. A `__Host-` name makes browsers refuse a cookie that another host has set.',
    }),
    secure: Type.Boolean({ default: true, description: 'Sent over HTTPS only (and to localhost).' }),
    httpOnly: Type.Boolean({ default: true, description: 'Out of reach of scripts in the page.' }),
    sameSite: Type.Enum(['lax', 'strict', 'none'], {
      default: 'lax',
      description: 'With `none` other sites may send it; requests of theirs that change something are still refused.',
    }),
    path: Type.String({
      pattern: '^/[!-:<-~]*$',
      expects: 'a path that starts with / and has no spaces and no ;',
      default: '/',
      description: 'Path below which browsers send it.',
    }),
    domain: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$',
        expects: 'a domain name without a leading dot',
        otherwise: 'the host alone',
        description: 'Shares the cookie with the subdomains of this domain. Not with a `__Host-` name.',
      }),
    ),
  },
  objections({ name, secure, sameSite, path, domain }) {
    const found: Objection[] = []
    // RFC 6265bis section 4.1.3; browsers compare the prefixes without regard to case (section 5.7).
    const prefix = /^__(host|secure)-/i.exec(name)?.[1]?.toLowerCase()
    if (prefix !== undefined && !secure) {
      found.push({ option: 'secure', message: `must be true: the cookie's name starts with __${title(prefix)}-` })
    }
    if (prefix === 'host' && path !== '/') {
      found.push({ option: 'path', message: "must be /: the cookie's name starts with __Host-" })
    }
    if (prefix === 'host' && domain !== undefined) {
      found.push({ option: 'domain', message: "must not be given: the cookie's name starts with __Host-" })
    }
    if (prefix === undefined && sameSite === 'none' && !secure) {
      found.push({ option: 'secure', message: 'must be true: browsers refuse sameSite none without it' })
    }
    return found
  },
})

function title(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1)
}

const jwt = part({
  kind: 'jwt',
  options: {
    audience: Type.String({
      minLength: 1,
      maxLength: 256,
      default: 'portcullis:auth',
      expects: 'a text of 1 to 256 characters',
      description: 'The claim `aud`: written into a token, and demanded of one that is presented.',
    }),
    lifetimeSeconds: lifetime(3600, 'Life of a token.'),
  },
})

const stored = part({
  kind: 'stored',
  options: {
    lifetimeSeconds: lifetime(30 * 86_400, 'Life of a session, however often it is used.'),
    idleSeconds: lifetime(86_400, 'Life of a session that is not used.'),
  },
  objections({ lifetimeSeconds, idleSeconds }) {
    if (idleSeconds <= lifetimeSeconds) return []
    return [{ option: 'idleSeconds', message: 'must be at most lifetimeSeconds' }]
  },
})

/** What Portcullis brings along. */
export const builtInParts = {
  storeKinds: stores,
  transports: [bearer, cookie],
  strategies: [jwt, stored],
  routers: [
    { name: 'register', description: 'Registration', prefix: '/auth', operations: ['POST /register'] },
    {
      name: 'resetPassword',
      description: 'Forgotten passwords',
      prefix: '/auth',
      operations: ['POST /forgot-password', 'POST /reset-password'],
    },
    {
      name: 'verify',
      description: 'Verification of e-mail addresses',
      prefix: '/auth',
      operations: ['POST /request-verify-token', 'POST /verify'],
    },
    {
      name: 'users',
      description: 'Reading, changing and deleting users',
      prefix: '/users',
      operations: ['GET /me', 'PATCH /me', 'GET /:id', 'PATCH /:id', 'DELETE /:id'],
    },
  ],
  backendOperations: ['POST /login', 'POST /logout'],
  serviceOperations: ['GET /healthz', 'GET /readyz', 'GET /openapi.json', 'GET /docs'],
} as const satisfies Parts

/** `{ kind, …options }` of one part, e.g. `{ kind: 'jwt', audience, lifetimeSeconds }`. */
export type OptionsOf<Part> = Part extends { kind: infer Kind; options: infer Options extends TProperties }
  ? { readonly kind: Kind } & Readonly<Static<TObject<Options>>>
  : never
