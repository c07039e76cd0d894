import { Type } from 'typebox'
import type { PasskeyResponse } from '../../../application/ports/passkey-verifier.ts'

/** Base64url without padding, as `toJSON` of a credential writes it. */
const base64url = { type: 'string', pattern: '^[A-Za-z0-9_-]{1,16384}$' } as const
const optional = { anyOf: [base64url, { type: 'null' }] } as const

/** The answer of an authenticator (WebAuthn Level 3 section 5.1). Verification reads further members. */
export const passkeyAnswer = Type.Unsafe<PasskeyResponse>({
  type: 'object',
  description: '`toJSON()` of the credential that the browser has returned',
  required: ['id', 'rawId', 'type', 'response'],
  properties: {
    id: base64url,
    rawId: base64url,
    type: { type: 'string', enum: ['public-key'] },
    response: {
      type: 'object',
      required: ['clientDataJSON'],
      properties: {
        clientDataJSON: base64url,
        attestationObject: optional,
        authenticatorData: optional,
        signature: optional,
        userHandle: optional,
        transports: {
          anyOf: [{ type: 'array', maxItems: 10, items: { type: 'string', maxLength: 40 } }, { type: 'null' }],
        },
      },
    },
    clientExtensionResults: { type: 'object' },
  },
})

/** How long the browser waits for the authenticator. */
export const passkeyMilliseconds = 300_000
