import { clientOptions, providerKind, providerUrl } from '../kind.ts'
import { openIdConnectProvider, secretAuthentication } from '../openid-connect.ts'

/** GitLab Docs, "GitLab as OpenID Connect identity provider". */
export const gitlabKind = providerKind({
  kind: 'gitlab',
  title: 'GitLab',
  options: {
    ...clientOptions(['openid', 'email']),
    url: providerUrl('The address of GitLab. Change it for your own GitLab.', 'https://gitlab.com'),
  },
  build: ({ url, clientSecret, ...client }, needs) =>
    openIdConnectProvider({ client, needs, issuer: url, authenticate: secretAuthentication(clientSecret) }),
})
