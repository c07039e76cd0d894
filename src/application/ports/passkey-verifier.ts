import type { Passkey } from '../../domain/factors.ts'

/** EdDSA, ES256 and RS256, by their numbers in COSE (RFC 9053 section 2, RFC 8812 section 2). */
export const passkeyAlgorithms = [-8, -7, -257] as const

/** The answer of an authenticator as browsers serialise it (WebAuthn Level 3 section 5.1, `toJSON`). */
export interface PasskeyResponse {
  readonly id: string
  readonly response: {
    readonly clientDataJSON: string
    readonly userHandle?: string | null | undefined
    readonly [member: string]: unknown
  }
  readonly [member: string]: unknown
}

/** A verified use of a passkey. */
export interface PasskeyUse {
  readonly counter: number
  /** Whether the passkey may be on several devices. */
  readonly isSynced: boolean
}

/** Verifies the answers of authenticators. Both ceremonies demand that the authenticator has verified the user. */
export interface PasskeyVerifier {
  /** The domain of new passkeys (RP ID); `null` where browsers allow none: without TLS, except on `localhost`, and for an IP address. */
  readonly rpId: string | null

  /** The challenge that the answer repeats; `null` for an answer that cannot be read. */
  challengeOf(response: PasskeyResponse): string | null

  /** `null`: the answer is not valid for this challenge, our origins and our domain, or the passkey is not discoverable. */
  enrolled(response: PasskeyResponse, challenge: string): Promise<Omit<Passkey, 'name' | 'addedAt'> | null>

  /** `null` as above, or it is not signed by this passkey. The counter is not compared. */
  used(response: PasskeyResponse, challenge: string, passkey: Passkey): Promise<PasskeyUse | null>
}
