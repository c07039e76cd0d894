import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import {
  type PasskeyResponse,
  type PasskeyVerifier,
  passkeyAlgorithms,
} from '../../application/ports/passkey-verifier.ts'
import { parseJson } from '../../lib/json-text.ts'

interface Site {
  /** `null` where browsers allow no passkeys. */
  readonly rpId: string | null
  /** The origins of pages that may use passkeys. */
  readonly origins: readonly string[]
}

/** Verifies passkeys (WebAuthn Level 3 section 7). The library is loaded for the first answer: most deployments have none. */
export function passkeyVerifier({ rpId, origins }: Site): PasskeyVerifier {
  const expected = (challenge: string) => ({
    expectedChallenge: challenge,
    expectedOrigin: [...origins],
    expectedRPID: rpId ?? '',
    requireUserVerification: true,
  })
  return {
    rpId,

    challengeOf(given) {
      const { challenge } = clientData(given)
      return typeof challenge === 'string' ? challenge : null
    },

    async enrolled(given, challenge) {
      if (isFramed(given)) return null
      const { verifyRegistrationResponse } = await import('@simplewebauthn/server')
      const response = given as unknown as RegistrationResponseJSON // safe: the library checks each part, and throws
      const supportedAlgorithmIDs = [...passkeyAlgorithms]
      const verify = async () => {
        const bare = await withoutStatement(response)
        return await verifyRegistrationResponse({ response: bare, supportedAlgorithmIDs, ...expected(challenge) })
      }
      const verified = await orNull(verify())
      if (rpId === null || !verified?.verified || response.clientExtensionResults?.credProps?.rk === false) return null
      const { id, publicKey, counter, transports } = verified.registrationInfo.credential
      return {
        id,
        publicKey: Buffer.from(publicKey).toString('base64url'),
        counter,
        transports: transports ?? [],
        rpId,
      }
    },

    async used(given, challenge, passkey) {
      if (passkey.rpId !== rpId || isFramed(given)) return null
      const { verifyAuthenticationResponse } = await import('@simplewebauthn/server')
      const response = given as unknown as AuthenticationResponseJSON // safe: as above
      const publicKey = new Uint8Array(Buffer.from(passkey.publicKey, 'base64url'))
      // The library refuses a counter that went back. With 0 it accepts any, and the caller compares.
      const credential = { id: passkey.id, publicKey, counter: 0 }
      const verified = await orNull(verifyAuthenticationResponse({ response, credential, ...expected(challenge) }))
      if (!verified?.verified) return null
      const { newCounter, credentialBackedUp } = verified.authenticationInfo
      return { counter: newCounter, isSynced: credentialBackedUp }
    },
  }
}

/**
 * The answer with an attestation of the format `none`. We ask for no other one, but some browsers send it, such as Firefox on Windows. The
 * library would refuse formats and certificates that it does not know, and may fetch addresses that a certificate contains.
 */
async function withoutStatement(given: RegistrationResponseJSON): Promise<RegistrationResponseJSON> {
  const { decodeAttestationObject, isoBase64URL, isoCBOR } = await import('@simplewebauthn/server/helpers')
  const { attestationObject, ...response } = given.response
  const authData = decodeAttestationObject(isoBase64URL.toBuffer(attestationObject)).get('authData')
  const bare = new Map<string, string | Uint8Array | Map<string, string>>([
    ['fmt', 'none'],
    ['attStmt', new Map()],
    ['authData', authData],
  ])
  return { ...given, response: { ...response, attestationObject: isoBase64URL.fromBuffer(isoCBOR.encode(bare)) } }
}

interface ClientData {
  readonly challenge?: unknown
  readonly crossOrigin?: unknown
}

function clientData({ response }: PasskeyResponse): ClientData {
  const parsed = parseJson(Buffer.from(response.clientDataJSON, 'base64url').toString())
  return (('value' in parsed ? parsed.value : null) ?? {}) as ClientData // safe: each member is checked
}

/** Whether a page of another origin had ours in a frame, where people do not see who asks (WebAuthn Level 3 section 13.4.9). */
function isFramed(given: PasskeyResponse): boolean {
  return clientData(given).crossOrigin === true
}

/** The library throws plain errors for answers that do not fit, and for junk. */
async function orNull<T>(verified: Promise<T>): Promise<T | null> {
  try {
    return await verified
  } catch {
    return null
  }
}
