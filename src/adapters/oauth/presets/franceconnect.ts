import Type from 'typebox'
import { valueAt } from '../identity.ts'
import { clientOptions, providerKind } from '../kind.ts'
import { openIdConnectProvider, secretAuthentication } from '../openid-connect.ts'

const issuers = {
  production: 'https://oidc.franceconnect.gouv.fr/api/v2',
  integration: 'https://fcp-low.integ01.dev-franceconnect.fr/api/v2',
}

/**
 * FranceConnect, "Endpoints disponibles" and "Les évolutions de la nouvelle version" (v2). A request must ask for the
 * level `eidas1`, the client sends id and secret in the body, and the user information is a signed JWT. The address
 * comes from the records of an identity provider; nobody vouches for it.
 *
 * No PKCE: the documents do not list `code_challenge`, and FranceConnect answers an unlisted parameter with the error
 * page Y000400 (`forbidNonWhitelisted` on `AuthorizeParamsDto` in the published sources, france-connect/sources).
 */
export const franceConnectKind = providerKind({
  kind: 'franceconnect',
  title: 'FranceConnect',
  options: {
    ...clientOptions(['openid', 'email']),
    environment: Type.Enum(['production', 'integration'], {
      default: 'production',
      description: 'Environment of FranceConnect.',
    }),
  },
  build: ({ environment, clientSecret, ...client }, needs) =>
    openIdConnectProvider({
      client,
      needs,
      issuer: issuers[environment],
      authenticate: secretAuthentication(clientSecret, 'post'),
      authorizeParameters: { acr_values: 'eidas1' },
      hasPkce: false,
      read: (claims) => ({ email: valueAt(claims, 'email'), emailVerified: false }),
    }),
})
