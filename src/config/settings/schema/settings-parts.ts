import Type from 'typebox'
import type { StoreRole } from '../../../adapters/stores/store-backend.ts'
import type { Parts } from '../../plugins/parts.ts'
import type { OptionsPart } from '../../plugins/plugin.ts'
import { enabled, prefix } from './settings-groups.ts'

export function storeSchema(role: StoreRole, stores: Parts['storeKinds']) {
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
    ...(stores.some((one) => one.takesPrefix && one.roles.includes(role)) && { prefix: keyPrefix }),
  })
}

const keyPrefix = Type.Optional(
  Type.String({
    pattern: '^[A-Za-z0-9._:-]{1,64}$',
    expects: 'letters, digits, . _ : and -, at most 64',
    otherwise: '`portcullis:`; `portcullis:<tenant>:` for a tenant that inherits the address',
    description: '(redis) What every key begins with: deployments that share a server need one each.',
  }),
)

function listed(words: readonly string[]): string {
  return words.map((word) => `\`${word}\``).join(', ')
}

export function routersSchema(routers: Parts['routers']) {
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

/** The name of a backend or a provider, which is a part of its paths: `/auth/<name>`. */
const mountedName = Type.String({ pattern: '^(?!(associate|register|verify|forgot|reset)$)[a-z][a-z0-9]*$' })
const nameExpected =
  'lower-case letters and digits, a letter first, and not associate, register, verify, forgot or reset'

export function backendsSchema(parts: Parts) {
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
  return Type.Record(mountedName, backend, {
    expects: nameExpected,
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
export const mounting = {
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
    failure: page('Where a refusal goes on to, with `?error=` and what would have been `detail`.', 'none'),
  }),
  redirectUrl: page('Page of the front end that calls our callback by fetch.', 'our callback'),
  redirectUrlAssociate: page('The same for linking.', 'our callback for linking'),
}

export function providersSchema(parts: Parts) {
  const provider = Type.Union(
    parts.providers.map(({ kind, options }) => Type.Object({ kind: Type.Literal(kind), ...options, ...mounting })),
    { description: 'A provider to sign in with' },
  )
  return Type.Record(mountedName, provider, {
    expects: nameExpected,
    default: {},
  })
}
