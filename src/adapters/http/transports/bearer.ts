import { Type } from 'typebox'
import type { Transport } from './transport.ts'

const Token = Type.Object(
  { access_token: Type.String(), token_type: Type.Literal('bearer') },
  { title: 'BearerToken', additionalProperties: false },
)

/** RFC 6750 section 2.1; tokens in a query or a body are ignored. */
export const bearerTransport: Transport = {
  read({ authorization }) {
    if (authorization === undefined) return null
    const [scheme = '', value = '', ...more] = authorization.split(' ')
    return scheme.toLowerCase() === 'bearer' && value !== '' && more.length === 0 ? value : null
  },
  deliver: (credential) => ({ status: 200, body: { access_token: credential, token_type: 'bearer' } }),
  clear: () => ({ status: 204 }),
  isAmbient: false,
  replies: { 200: { description: 'Logged in: the token is presented as `Authorization: Bearer …`', body: Token } },
  securityScheme: (loginPath) =>
    loginPath === null
      ? { type: 'http', scheme: 'bearer' }
      : { type: 'oauth2', flows: { password: { tokenUrl: loginPath, scopes: {} } } },
}
