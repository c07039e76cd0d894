import Type from 'typebox'
import { valueAt } from '../identity.ts'
import { clientOptions, providerKind } from '../kind.ts'
import { openIdConnectProvider, secretAuthentication } from '../openid-connect.ts'

/**
 * Microsoft identity platform, "OpenID Connect", "Access tokens" (on validation), "ID token claims reference" and
 * "Optional claims reference".
 *
 * - For several tenants the issuer of the metadata has a `{tenantid}` in it, and that of an ID token has the `tid` of
 *   the very token in its place; openid-client compares them so.
 * - A subject is one within its tenant: accounts are named by both.
 * - `email` is what any tenant's administrator typed ("nOAuth"). Only the optional claim `xms_edov`, to be enabled in
 *   the app registration, says that the owner of the domain is verified.
 */
export const microsoftKind = providerKind({
  kind: 'microsoft',
  options: {
    ...clientOptions(['openid', 'email', 'profile']),
    tenant: Type.String({
      pattern: '^[A-Za-z0-9][A-Za-z0-9.-]*$',
      expects: 'common, organizations, consumers, or the id or domain of a tenant',
      default: 'common',
      description: 'Whose accounts may sign in.',
    }),
  },
  build: ({ tenant, clientSecret, ...client }, needs) =>
    openIdConnectProvider(
      {
        issuer: `https://login.microsoftonline.com/${tenant}/v2.0`,
        authenticate: secretAuthentication(clientSecret, 'post'),
        hasTenants: true,
        read: (claims) => ({ email: valueAt(claims, 'email'), emailVerified: valueAt(claims, 'xms_edov') }),
      },
      client,
      needs,
    ),
})
