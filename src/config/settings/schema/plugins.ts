// The sections whose kinds come from the lists in `config/plugins/`.
import Type from 'typebox'
import { loginBySetting } from '../../../adapters/fields/login-field.ts'
import type { StoreRole } from '../../../adapters/stores/store-backend.ts'
import type { OptionsPart } from '../../plugins/plugin.ts'
import { providers } from '../../plugins/providers.ts'
import { routers } from '../../plugins/routers.ts'
import { stores } from '../../plugins/stores.ts'
import { strategies } from '../../plugins/strategies.ts'
import { transports } from '../../plugins/transports.ts'
import { enabled, page, prefix, verifiedOnly } from './fields.ts'

export function storeSchema(role: StoreRole) {
  return Type.Union(
    stores
      .filter(({ roles }) => roles.includes(role))
      .map(({ kind, options }) => Type.Object({ kind: Type.Literal(kind), ...options(role) })),
    {
      ...(role === 'users'
        ? { usualKind: 'sqlite' }
        : { usualKindOf: 'stores.users', otherwise: 'the kind of the users' }),
      description: `Store of the ${role === 'tokens' ? 'one-time tokens' : role}.`,
    },
  )
}

function listed(words: readonly string[]): string {
  return words.map((word) => `\`${word}\``).join(', ')
}

export const routersSchema = Type.Object(
  Object.fromEntries(
    routers.map(({ name, description, prefix: standard, router, ...rest }) => [
      name,
      Type.Object({
        enabled: enabled(
          `${description}: ${listed(router.endpoints.map(({ method, path }) => `${method} ${path}`))}.`,
          {
            default: !('isOff' in rest),
            ...('isOff' in rest && rest.isOff),
          },
        ),
        prefix: prefix({ default: standard }),
        ...(name === 'users' && {
          requiresVerification: verifiedOnly('Every route refuses users without a verified address: 403.'),
        }),
      }),
    ]),
  ),
)

/** A union of options with a `kind`. */
function oneOf(parts: readonly OptionsPart[], description: string) {
  return Type.Union(
    parts.map(({ kind, options }) => Type.Object({ kind: Type.Literal(kind), ...options })),
    { description },
  )
}

/** The name of a backend or a provider. It is part of a path: `/auth/<name>`. */
const mountedName = Type.String({ pattern: '^(?!(associate|register|verify|forgot|reset)$)[a-z][a-z0-9]*$' })
const nameExpected =
  'lower-case letters and digits, a letter first, and not associate, register, verify, forgot or reset'

const backend = Type.Object({
  enabled: enabled('`false` removes the backend.'),
  prefix: Type.Optional(prefix({ otherwise: '`/auth/<name>`' })),
  requiresVerification: verifiedOnly('The login refuses users without a verified address.'),
  logoutRequiresVerification: verifiedOnly('The logout refuses users without a verified address: 403.'),
  loginBy: loginBySetting,
  transport: oneOf(transports, 'How the client sends the credential'),
  strategy: oneOf(strategies, 'Kind of the credential'),
})

export const backendsSchema = Type.Record(mountedName, backend, {
  expects: nameExpected,
  default: {
    jwt: { transport: { kind: 'bearer' }, strategy: { kind: 'jwt' } },
    cookie: { transport: { kind: 'cookie' }, strategy: { kind: 'stored' } },
  },
})

/** An address of another host, or a path of the own origin; `//host` and `/\\host` would be other hosts. */
function isImageAddress(text: string): boolean {
  if (text.startsWith('/')) return /^\/(?![\\/])[!-~]*$/.test(text)
  return text.startsWith('https://') && URL.canParse(text)
}

/** The settings of providers of all kinds. */
export const mounting = {
  enabled: enabled('`false` removes the provider.'),
  label: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 60,
      expects: 'a name of at most 60 characters',
      otherwise: '`<name>` with a capital letter',
      description: 'Name of the provider for people: on buttons and in messages.',
    }),
  ),
  icon: Type.Optional(
    Type.Refine(
      Type.String({
        expects: 'an https address, or a path of this service such as /icons/acme.svg',
        otherwise: 'that of the preset, otherwise none',
        description:
          'Image on the buttons of the account pages: an https address, or a path that your proxy serves at the public URL.',
      }),
      isImageAddress,
    ),
  ),
  prefix: Type.Optional(prefix({ otherwise: '`/auth/<name>`' })),
  associatePrefix: Type.Optional(
    prefix({ otherwise: '`/auth/associate/<name>`', description: 'Path in front of the routes that link accounts.' }),
  ),
  backend: Type.Optional(
    Type.String({
      minLength: 1,
      expects: 'the name of a backend',
      otherwise: 'the first one',
      description: 'Backend that creates the session of a successful sign-in.',
    }),
  ),
  associateByEmail: Type.Boolean({
    default: false,
    description:
      'Links the account to the user with the same address, if the provider and the service have both verified it.',
  }),
  verifiedByDefault: Type.Boolean({
    default: false,
    description: 'New users are verified, if the provider vouches for the address.',
  }),
  trustsSecondFactor: Type.Boolean({
    default: false,
    description:
      'A sign-in at this provider counts as two factors, so nobody is asked for a second one here. Only for a provider that asks every user for two (`docs/second-factors.md`).',
  }),
  requiresVerification: verifiedOnly('Refuses users without a verified address.'),
  associateRequiresVerification: verifiedOnly(
    'The routes that link accounts refuse users without a verified address: 403.',
  ),
  fields: Type.Record(
    Type.String({ pattern: '^[A-Za-z][A-Za-z0-9_]{0,62}$' }),
    Type.String({
      pattern: '^[!-~]+$',
      expects: 'the name of a claim',
      description:
        'Claim, or member of the profile, that a new user has in this field of `users.fields`, such as `given_name` or `address.country`.',
    }),
    { expects: 'the name of a field of users.fields', default: {} },
  ),
  redirects: Type.Object({
    success: page('Page after a login, instead of a JSON answer.', 'none'),
    linked: page('Page after linking, instead of a JSON answer.', 'none'),
    failure: page('Page after a refusal, with the `detail` in `?error=`.', 'none'),
  }),
  redirectUrl: page('Page of the front end that calls the callback by `fetch`.', 'the callback of the service'),
  redirectUrlAssociate: page('The page of the front end for linking.', 'the callback of the service for linking'),
}

const provider = Type.Union(
  providers.map(({ kind, options }) => Type.Object({ kind: Type.Literal(kind), ...options, ...mounting })),
  { description: 'A provider to sign in with' },
)

export const providersSchema = Type.Record(mountedName, provider, { expects: nameExpected, default: {} })
