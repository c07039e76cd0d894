import { Refusal } from '../../../domain/refusal.ts'
import type { Router } from '../endpoint.ts'
import type { Reply } from '../reply.ts'
import { pageEndpoint } from './page-endpoint.ts'

interface Needs {
  /** The claim `iss` of tokens: the public URL. */
  readonly issuer: string
  readonly published: () => Promise<readonly object[]>
  readonly cacheSeconds: number
  /** The description of the sign-in for apps; `null` without apps. */
  readonly signIn: object | null
}

/**
 * The keys for services that verify tokens (RFC 7517), and the description of the issuer (RFC 8414). OpenID Connect Discovery has
 * another path for the description, at which many libraries look. There are no ID tokens.
 */
export function wellKnownRouter({ issuer, published, cacheSeconds, signIn }: Needs): Router<unknown> {
  const reply = (body: object): Reply => {
    // A shared cache would add its time to that of each verifier, and a new key would sign too early (RFC 9111 section 5.2.2.7).
    return { status: 200, headers: { 'Cache-Control': `private, max-age=${cacheSeconds}` }, body }
  }
  async function keySet(): Promise<Reply> {
    const keys = await published()
    if (keys.length === 0) throw new Refusal('NOT_FOUND')
    return reply({ keys })
  }
  async function description(): Promise<Reply> {
    const hasKeys = (await published()).length > 0
    if (!hasKeys && signIn === null) throw new Refusal('NOT_FOUND')
    return reply({ issuer, ...(hasKeys && { jwks_uri: `${issuer}/.well-known/jwks.json` }), ...signIn })
  }
  return {
    tag: 'pages',
    endpoints: [
      pageEndpoint('/.well-known/jwks.json', keySet),
      pageEndpoint('/.well-known/oauth-authorization-server', description),
      pageEndpoint('/.well-known/openid-configuration', description),
    ],
  }
}
