import { Type } from 'typebox'
import type { Transport } from './transport.ts'

const Token = Type.Object(
  { access_token: Type.String(), token_type: Type.Literal('bearer') },
  { title: 'BearerToken', additionalProperties: false },
)

/** Spaces, but no tabs, may separate the scheme from the token (RFC 9110 section 11.4). */
const authorizationForm = /^bearer +(\S+)$/i

/** RFC 6750 section 2.1; tokens in a query or a body are ignored. */
export const bearerTransport: Transport = {
  read: ({ authorization = '' }) => authorizationForm.exec(authorization)?.[1] ?? null,
  deliver: ({ issued }) => ({ status: 200, body: { access_token: issued.value, token_type: 'bearer' } }),
  clear: () => ({ status: 204 }),
  isAmbient: false,
  replies: { 200: { description: 'Logged in: the token is presented as `Authorization: Bearer …`', body: Token } },
  securityScheme: (loginPath) =>
    loginPath === null
      ? { type: 'http', scheme: 'bearer' }
      : { type: 'oauth2', flows: { password: { tokenUrl: loginPath, scopes: {} } } },
}
