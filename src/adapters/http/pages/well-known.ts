import { Refusal } from '../../../domain/refusal.ts'
import type { Router } from '../endpoint.ts'
import type { Reply } from '../reply.ts'
import { pageEndpoint } from './page-endpoint.ts'

interface Needs {
  /** The claim `iss` of tokens: the public URL. */
  readonly issuer: string
  readonly published: () => Promise<readonly object[]>
  readonly cacheSeconds: number
}

/**
 * The keys for services that verify tokens (RFC 7517), and the description of the issuer (RFC 8414). OpenID Connect Discovery has
 * another path for the description, at which many libraries look. There are no ID tokens.
 */
export function wellKnownRouter({ issuer, published, cacheSeconds }: Needs): Router<unknown> {
  const headers = { 'Cache-Control': `public, max-age=${cacheSeconds}` }
  async function reply(bodyOf: (keys: readonly object[]) => object): Promise<Reply> {
    const keys = await published()
    if (keys.length === 0) throw new Refusal('NOT_FOUND')
    return { status: 200, headers, body: bodyOf(keys) }
  }
  const description = () => reply(() => ({ issuer, jwks_uri: `${issuer}/.well-known/jwks.json` }))
  return {
    tag: 'pages',
    endpoints: [
      pageEndpoint('/.well-known/jwks.json', () => reply((keys) => ({ keys }))),
      pageEndpoint('/.well-known/oauth-authorization-server', description),
      pageEndpoint('/.well-known/openid-configuration', description),
    ],
  }
}
