import { createPrivateKey } from 'node:crypto'
import jsonwebtoken from 'jsonwebtoken'
import Type from 'typebox'
import { clientId, providerKind, scopes } from '../kind.ts'
import { type Authentication, openIdConnectProvider } from '../openid-connect.ts'

const issuer = 'https://appleid.apple.com'
const secretLifeSeconds = 300 // Apple allows six months.

const appleId = (description: string) =>
  Type.String({ pattern: '^[A-Z0-9]{10}$', expects: 'ten letters and digits, as Apple shows them', description })

/** Apple Developer, "Sign in with Apple REST API": "Creating a client secret" and "Request an authorization". */
export const appleKind = providerKind({
  kind: 'apple',
  // "If you requested any scopes, the value must be form_post."
  postsCallback: true,
  options: {
    clientId,
    scopes: scopes(['openid', 'email']),
    teamId: appleId('The team of the Services ID.'),
    keyId: appleId('The id of the private key.'),
    privateKey: Type.Refine(
      Type.String({
        secret: true,
        expects: 'an elliptic-curve key in PEM (the .p8 file)',
        description: 'The private key, which signs the client secrets.',
      }),
      isEllipticKey,
    ),
  },
  build: ({ teamId, keyId, privateKey, ...client }, needs) =>
    openIdConnectProvider({
      client,
      needs,
      issuer,
      authenticate: signedSecret({ teamId, keyId, privateKey, clientId: client.clientId, clock: needs.clock }),
      authorizeParameters: { response_mode: 'form_post' },
    }),
})

interface SecretOptions {
  readonly teamId: string
  readonly keyId: string
  readonly privateKey: string
  readonly clientId: string
  readonly clock: () => Date
}

function signedSecret({ teamId, keyId, privateKey, clientId, clock }: SecretOptions): Authentication {
  const key = createPrivateKey(privateKey)
  return () => (_server, _client, body) => {
    const iat = Math.floor(clock().getTime() / 1000)
    const claims = { iss: teamId, iat, exp: iat + secretLifeSeconds, aud: issuer, sub: clientId }
    body.set('client_id', clientId)
    body.set('client_secret', jsonwebtoken.sign(claims, key, { algorithm: 'ES256', keyid: keyId }))
  }
}

function isEllipticKey(pem: string): boolean {
  try {
    return createPrivateKey(pem).asymmetricKeyDetails?.namedCurve === 'prime256v1'
  } catch {
    return false
  }
}
