import { createRemoteJWKSet, customFetch, jwtVerify } from 'jose'

/**
 * Another service. It keeps the published keys for their whole cache time, and never asks for an unknown one meanwhile.
 *
 * @param ask requests a path at any process
 */
export function cachingVerifier(cacheSeconds: number, ask: (path: string) => Promise<Response>) {
  const keys = createRemoteJWKSet(new URL('http://localhost/.well-known/jwks.json'), {
    cacheMaxAge: cacheSeconds * 1000, // less than the cool-down after which it would ask for an unknown key
    [customFetch]: (url) => ask(new URL(url).pathname),
  })
  return async (token: string): Promise<void> => {
    await jwtVerify(token, keys, { typ: 'at+jwt', algorithms: ['EdDSA'], audience: 'portcullis:auth' })
  }
}
