import Type from 'typebox'
import type { OptionsPart } from '../../plugins/plugin.ts'
import { providers } from '../../plugins/providers.ts'
import { strategies } from '../../plugins/strategies.ts'
import { transports } from '../../plugins/transports.ts'
import { enabled, page, prefix } from './fields.ts'

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

const backend = Type.Object({
  enabled: enabled('`false` removes the backend.'),
  prefix: Type.Optional(prefix({ otherwise: '`/auth/<name>`' })),
  requiresVerification: Type.Boolean({
    default: false,
    description: 'Its login refuses users whose address is not verified.',
  }),
  transport: oneOf(transports, 'How the credential travels'),
  strategy: oneOf(strategies, 'What the credential is'),
})

export const backendsSchema = Type.Record(mountedName, backend, {
  expects: nameExpected,
  default: {
    jwt: { transport: { kind: 'bearer' }, strategy: { kind: 'jwt' } },
    cookie: { transport: { kind: 'cookie' }, strategy: { kind: 'stored' } },
  },
})

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

const provider = Type.Union(
  providers.map(({ kind, options }) => Type.Object({ kind: Type.Literal(kind), ...options, ...mounting })),
  { description: 'A provider to sign in with' },
)

export const providersSchema = Type.Record(mountedName, provider, { expects: nameExpected, default: {} })
