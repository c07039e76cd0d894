import { type Static, Type } from 'typebox'
import type { MountedApp } from './mounted-app.ts'
import { TokenFault, wrongCode } from './token-errors.ts'

const field = (description: string) => Type.Optional(Type.String({ description }))
export const TokenForm = Type.Object(
  {
    grant_type: field('`authorization_code`'),
    code: field('The code, within a minute'),
    redirect_uri: field('As in the authorization request'),
    client_id: field('The name of the app'),
    code_verifier: field('43 to 128 characters, whose SHA-256 is the `code_challenge` (RFC 7636)'),
  },
  { title: 'TokenRequest' },
)

/** The `client_id` of a library that knows HTTP Basic alone (RFC 6749 section 2.3.1). An app has no secret, so only an empty one fits. */
export function publicClient(authorization: string | undefined): string | undefined {
  const [, encoded = ''] = /^basic +([\w+/=-]+)$/i.exec(authorization ?? '') ?? []
  const [, name] = /^([^:%+]+):$/.exec(Buffer.from(encoded, 'base64').toString()) ?? []
  return name
}

/** RFC 7636 section 4.1. */
const verifierForm = /^[\w.~-]{43,128}$/

/** The parameters of a token request (RFC 6749 section 4.1.3). */
export function tokenRequest(form: Static<typeof TokenForm>, clientId: string | undefined, app: MountedApp | null) {
  const { grant_type, code, redirect_uri: redirectUri, code_verifier: verifier } = form
  if (grant_type === undefined) throw missing('grant_type')
  if (grant_type !== 'authorization_code') {
    throw new TokenFault('unsupported_grant_type', 'grant_type must be authorization_code')
  }
  if (clientId === undefined) throw missing('client_id')
  if (app === null) throw new TokenFault('invalid_client', 'no app has this client_id')
  if (code === undefined) throw missing('code')
  if (redirectUri === undefined) throw missing('redirect_uri')
  if (verifier === undefined) throw missing('code_verifier')
  if (!verifierForm.test(verifier)) throw new TokenFault('invalid_grant', wrongCode)
  return { app: app.name, backend: app.backend, code, redirectUri, verifier }
}

function missing(name: string): TokenFault {
  return new TokenFault('invalid_request', `${name} is missing`)
}
