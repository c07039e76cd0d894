import { clientOptions, providerKind } from './kind.ts'
import { type OAuth2Definition, oauth2Provider } from './oauth2.ts'

/** A known provider of OAuth 2.0 that needs no options but those of the client. */
export function oauth2Preset<const Kind extends string>(
  kind: Kind,
  standardScopes: readonly string[],
  definition: Omit<OAuth2Definition, 'client' | 'needs'>,
) {
  return providerKind({
    kind,
    options: clientOptions(standardScopes),
    build: (client, needs) => oauth2Provider({ client, needs, ...definition }),
  })
}
