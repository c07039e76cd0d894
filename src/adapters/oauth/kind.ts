import Type, { type Static, type TObject, type TProperties } from 'typebox'
import type { OAuthProvider } from '../../application/ports/oauth-provider.ts'
import { isSecure, type Outbound } from './outbound.ts'

export interface ProviderNeeds {
  readonly name: string
  readonly outbound: Outbound
  readonly clock: () => Date
  /** The claim, or the member of the profile, of each own field of a new user. */
  readonly fields?: Readonly<Record<string, string>>
}

/**
 * A kind of provider in the settings: `{ kind, …options }`. A new one is a file here and a line in `config/plugins`.
 */
interface ProviderKind<Kind extends string, Options extends TProperties> {
  readonly kind: Kind
  /** Its name for people, if this is not the kind with a capital letter. */
  readonly title?: string
  readonly options: Options
  /** Apple sends the browser back with a POST (OAuth 2.0 Form Post Response Mode). */
  readonly postsCallback?: true
  /** A warning about options that have no effect or are a risk, without the path of the provider; `null` for none. */
  doubt?(options: Static<TObject<Options>>): string | null
  build(options: Static<TObject<Options>>, needs: ProviderNeeds): OAuthProvider
}

/** Keeps the literal type of `kind`, and types `build` by the options. */
export function providerKind<const Kind extends string, Options extends TProperties>(
  given: ProviderKind<Kind, Options>,
): ProviderKind<Kind, Options> {
  return given
}

// RFC 6749 appendix A: a client's id and secret are printable ASCII.
const printable = { pattern: '^[ -~]+$', expects: 'printable ASCII, not empty' }

export const clientId = Type.String({ ...printable, description: 'The id of this service at the provider.' })

const clientSecret = Type.String({ ...printable, secret: true, description: 'The client secret from the provider.' })

export const scopes = (standard: readonly string[]) =>
  Type.Array(Type.String({ pattern: '^[!#-\\[\\]-~]+$', expects: 'a scope: printable ASCII without spaces' }), {
    default: [...standard],
    description: 'Allowed scopes. A request without scopes asks for all of them.',
  })

/** The options of every provider that authenticates its clients by a secret. */
export const clientOptions = (standardScopes: readonly string[]) => ({
  clientId,
  clientSecret,
  scopes: scopes(standardScopes),
})

export const providerUrl = (description: string, standard?: string) =>
  Type.Refine(
    Type.String({
      expects: 'an https address; plain http only on loopback',
      description,
      ...(standard !== undefined && { default: standard }),
    }),
    (text) => isSecure(text) && new URL(text).hash === '',
  )

export const pkce = Type.Boolean({
  default: true,
  description: 'Sends a PKCE challenge (RFC 7636). `false` for a provider that rejects it.',
})

export const clientAuthentication = {
  description: 'Authentication at the token endpoint: HTTP Basic, or id and secret in the body.',
}
