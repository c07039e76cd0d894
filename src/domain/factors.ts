import type { UserId } from './ids.ts'

/** The second factors of a user: proofs beside the password or the account at a provider. */
export interface Factors {
  /** Codes by an authenticator app (RFC 6238); `null` without one. */
  readonly totp: Totp | null
  readonly passkeys: readonly Passkey[]
  /** The random text by which a passkey names its user (WebAuthn Level 3 section 14.6.1), base64url. Absent before the first passkey. */
  readonly passkeyHandle?: string
  /** `null` where there are none. They go with the last factor. */
  readonly recovery: RecoveryCodes | null
  /** When all of them go, in milliseconds since 1970, for a user who has lost them. `null`: nobody has asked for this. */
  readonly resetAt: number | null
  /**
   * The address was not verified when the first of them was added, so they may be those of somebody who has registered the address of
   * another person. The owner's reset by mail removes them. Absent: it was, or the user has verified it since in a login with them.
   */
  readonly isUnverified?: true
}

export interface Totp {
  /** The shared secret, sealed for this user. */
  readonly sealedSecret: string
  /** The time step of the last accepted code. Codes of this step and of earlier ones are refused (RFC 6238 section 5.2). */
  readonly lastStep: number
  /** Milliseconds since 1970. */
  readonly addedAt: number
}

/** A discoverable credential of an authenticator (WebAuthn Level 3). Its use counts as both factors. */
export interface Passkey {
  /** The id of the credential, base64url. */
  readonly id: string
  /** COSE, base64url. It is no secret. */
  readonly publicKey: string
  /** Of the last signature; 0 for passkeys that do not count. */
  readonly counter: number
  readonly transports: readonly string[]
  /** The domain for which the authenticator made it (RP ID). It works for no other one. */
  readonly rpId: string
  /** For the list of the user. */
  readonly name: string
  /** Milliseconds since 1970. */
  readonly addedAt: number
}

/** One-time codes for a user who has lost the other factors. */
export interface RecoveryCodes {
  /** A random key of this set, sealed for this user. A change of the master secret seals it anew, so the codes stay. */
  readonly sealedKey: string
  /** HMACs of the unused codes, by the key. A plain digest of 50 bits could be searched in a day. */
  readonly digests: readonly string[]
}

export const noFactors: Factors = { totp: null, passkeys: [], recovery: null, resetAt: null }

/** The method of a login with two factors (RFC 8176 section 2). */
export const twoFactors = 'mfa'

/** How well a login was proved: 2 by two factors, otherwise 1. */
export function levelOf({ methods }: { readonly methods: readonly string[] }): 1 | 2 {
  return methods.includes(twoFactors) ? 2 : 1
}

export const hasFactor = ({ factors }: { readonly factors: Factors }): boolean =>
  factors.totp !== null || factors.passkeys.length > 0

/** `user` without factors that were added before the address was verified; `null` if it has none of these. */
export function withoutUnverified<Owner extends { readonly factors: Factors }>(user: Owner): Owner | null {
  return user.factors.isUnverified ? { ...user, factors: noFactors } : null
}

/** When the oldest factor was added, which also names this set of factors: one that is added after a reset has another time. */
export const factorsSince = ({ totp, passkeys }: Factors): number =>
  Math.min(...[totp, ...passkeys].flatMap((one) => one?.addedAt ?? []))

/** The time step of codes (RFC 6238 section 4.1). */
export const totpSeconds = 30

/**
 * Until when each code is refused, because the clock of the service was ahead when the last one was used; `null` if it was not. A telephone
 * may be one step ahead.
 */
export function codesRefusedUntil({ lastStep }: Pick<Totp, 'lastStep'>, now: Date): Date | null {
  const ofLast = lastStep * totpSeconds * 1000
  return ofLast - now.getTime() > totpSeconds * 1000 ? new Date(ofLast) : null
}

/** The text to which `Totp.sealedSecret` is bound, so that it opens for its user alone. */
export const totpBinding = (id: UserId): string => `totp of ${id}`

/** The text to which `RecoveryCodes.sealedKey` is bound. */
export const recoveryBinding = (id: UserId): string => `recovery of ${id}`
