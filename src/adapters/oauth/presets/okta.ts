import Type from 'typebox'
import { clientOptions, providerKind } from '../kind.ts'
import { openIdConnectProvider, secretAuthentication } from '../openid-connect.ts'

/** Okta Developer, "OpenID Connect & OAuth 2.0 API": the org's authorization server, or a custom one by its id. */
export const oktaKind = providerKind({
  kind: 'okta',
  options: {
    ...clientOptions(['openid', 'email', 'profile']),
    domain: Type.String({
      pattern: '^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)+$',
      expects: 'a host name, without https:// and path',
      description: 'The domain of the organization, for example `example.okta.com`.',
    }),
    authorizationServer: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9]+$',
        expects: 'the id of an authorization server, such as default',
        otherwise: 'the server of the organization',
        description: 'A custom authorization server.',
      }),
    ),
  },
  build({ domain, authorizationServer, clientSecret, ...client }, needs) {
    const issuer = `https://${domain}${authorizationServer === undefined ? '' : `/oauth2/${authorizationServer}`}`
    return openIdConnectProvider({ client, needs, issuer, authenticate: secretAuthentication(clientSecret) })
  },
})
