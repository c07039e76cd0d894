import Type from 'typebox'
import { claimsOption, claimsReader, doubtOfClaims } from './claims.ts'
import { clientAuthentication, clientOptions, pkce, providerKind, providerUrl } from './kind.ts'
import { openIdConnectProvider, secretAuthentication } from './openid-connect.ts'
import { isSecure } from './outbound.ts'

/** Any provider of OpenID Connect, given its issuer. */
export const openIdConnectKind = providerKind({
  kind: 'openid-connect',
  options: {
    ...clientOptions(['openid', 'email']),
    issuer: providerUrl('Address of the issuer, without `/.well-known/openid-configuration`.'),
    discoveryUrl: Type.Optional(
      Type.Refine(
        Type.String({
          expects: 'an https address with /.well-known/; plain http only on loopback',
          otherwise: '`issuer` with `/.well-known/openid-configuration`',
          description: 'Address of the metadata, which must name the `issuer`.',
        }),
        (text) => isSecure(text) && new URL(text).pathname.includes('/.well-known/'),
      ),
    ),
    claims: claimsOption('email_verified'),
    pkce,
    idTokenAlgorithm: Type.Optional(
      Type.Enum(['HS256'], {
        otherwise: 'those in the metadata of the provider',
        description:
          'The only algorithm of ID tokens, for a provider whose metadata do not list it. HS256 is verified by `clientSecret`.',
      }),
    ),
    clientAuthentication: Type.Optional(
      Type.Enum(['basic', 'post'], { otherwise: 'from the metadata of the provider', ...clientAuthentication }),
    ),
  },
  doubt: ({ claims }) => doubtOfClaims(claims),
  build: ({ clientAuthentication: method, claims, pkce: hasPkce, clientId, scopes, ...definition }, needs) =>
    openIdConnectProvider({
      ...definition,
      client: { clientId, scopes },
      needs,
      authenticate: secretAuthentication(definition.clientSecret, method),
      hasPkce,
      read: claimsReader(claims, 'email_verified'),
    }),
})
