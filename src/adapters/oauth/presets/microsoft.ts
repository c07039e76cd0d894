import Type from 'typebox'
import { claimsOption, claimsReader, doubtOfClaims } from '../claims.ts'
import { clientOptions, providerKind } from '../kind.ts'
import { openIdConnectProvider, secretAuthentication } from '../openid-connect.ts'

/**
 * Microsoft identity platform, "OpenID Connect", "Access tokens" (on validation), "ID token claims reference" and
 * "Optional claims reference".
 *
 * With several tenants, the issuer in the metadata contains `{tenantid}`, and an ID token's issuer has its own `tid` in
 * that place. A subject is unique only within its tenant, so both together name an account.
 *
 * Any administrator of a tenant can set `email` to any address ("nOAuth"). Only the optional claim `xms_edov`, which
 * the app registration must enable, says that the domain's owner is verified. With one tenant, its administrator may
 * name another claim.
 */
export const microsoftKind = providerKind({
  kind: 'microsoft',
  options: {
    ...clientOptions(['openid', 'email', 'profile']),
    tenant: Type.String({
      pattern: '^[A-Za-z0-9][A-Za-z0-9.-]*$',
      expects: 'common, organizations, consumers, or the id or domain of a tenant',
      default: 'common',
      description: 'Accounts that may sign in.',
    }),
    claims: claimsOption('xms_edov'),
  },
  doubt: ({ claims, tenant }) => doubtOfClaims(claims, ['common', 'organizations'].includes(tenant)),
  build: ({ tenant, claims, clientSecret, ...client }, needs) =>
    openIdConnectProvider({
      client,
      needs,
      issuer: `https://login.microsoftonline.com/${tenant}/v2.0`,
      authenticate: secretAuthentication(clientSecret, 'post'),
      hasTenants: true,
      read: claimsReader(claims, 'xms_edov'),
    }),
})
