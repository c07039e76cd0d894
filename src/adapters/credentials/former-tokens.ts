import { createSecretKey, hash } from 'node:crypto'
import jsonwebtoken, { type JwtPayload } from 'jsonwebtoken'
import type { Credential, Credentials } from '../../application/ports/credentials.ts'
import type { FormerLinks } from '../../application/ports/former-links.ts'
import type { PasswordHasher } from '../../application/ports/password-hasher.ts'
import { type Email, emailKey } from '../../domain/email.ts'
import { parseUserId } from '../../domain/ids.ts'

/** The needs for every kind of token of fastapi-users (fastapi_users/jwt.py). Their `sub` is the id of the user. */
interface Former {
  /** The secret of the other system. With it, anybody can make such a token for each imported user. */
  readonly secret: string
  /** After this time no token is genuine; `null`: none is at any time. */
  readonly until: () => Date | null
  readonly clock: () => Date
  /** Called for each genuine token. */
  readonly used: () => void
}

/** Longer values are refused before they are decoded. */
const maxTokenLength = 8192
/** The end of the year 9999. */
const lastSecond = 253_402_300_799

/**
 * Reads JSON Web Tokens that another system has signed with HMAC-SHA-256 and no other algorithm (RFC 8725 section 3.1). Returns the
 * claims of a genuine token that has an end; `null` for any other.
 *
 * @param audiences at least one of them must be an audience of the token
 */
function formerReader({ secret, until, clock, used }: Former, audiences: readonly string[]) {
  const key = createSecretKey(Buffer.from(secret))

  return (value: string): { readonly claims: JwtPayload; readonly expiresAt: Date } | null => {
    const now = clock()
    if (value.length > maxTokenLength || now >= (until() ?? now)) return null
    try {
      const options = { algorithms: ['HS256' as const], audience: [...audiences] as [string], complete: true as const }
      const clockTimestamp = Math.max(1, Math.floor(now.getTime() / 1000)) // the library treats 0 as absent
      const { header, payload } = jsonwebtoken.verify(value, key, { ...options, clockTimestamp })
      if ('crit' in header || (header.typ !== undefined && header.typ !== 'JWT') || typeof payload === 'string')
        return null
      const { exp } = payload
      if (exp === undefined) return null
      used()
      // Not `until`: the end of a logged-out token is recorded until then, and `until` may become a later day.
      return { claims: payload, expiresAt: new Date(Math.min(exp, lastSecond) * 1000) }
    } catch {
      return null
    }
  }
}

/** The needs of `withFormerLogins`. */
export interface FormerLogins extends Former {
  readonly audiences: readonly string[]
}

/** Lets `own` read the logins of another system beside its own credentials. It never issues such a token. */
export function withFormerLogins(own: Credentials, former: FormerLogins): Credentials {
  const read = formerReader(former, former.audiences)

  function formerLogin(value: string): Credential | null {
    const genuine = read(value)
    const userId = parseUserId(String(genuine?.claims.sub ?? ''))
    if (genuine === null || userId === null) return null
    const id = hash('sha256', value, 'base64url')
    const { expiresAt } = genuine
    // The token does not say when its user was proved, so such a login is never fresh.
    return { id, userId, generation: null, sid: id, provedAt: new Date(0), methods: [], expiresAt }
  }

  return { ...own, read: async (value) => (await own.read(value)) ?? formerLogin(value) }
}

interface FormerSecrets extends Omit<Former, 'secret' | 'used'> {
  /** `null`: links of this kind are not read. */
  readonly resetSecret: string | null
  readonly verificationSecret: string | null
  readonly hasher: Pick<PasswordHasher, 'verify'>
  /** The objection to a hash of another system, such as its cost; `null` for none. */
  readonly hashObjection: (hash: string) => string | null
  readonly used: (kind: 'reset' | 'verification') => void
}

/** The open links of fastapi-users for a reset and a verification. */
export function formerLinks(secrets: FormerSecrets): FormerLinks {
  const { resetSecret, verificationSecret, hasher, hashObjection, used, ...common } = secrets
  const reader = (secret: string | null, kind: 'reset' | 'verification', audience: string) =>
    secret === null ? () => null : formerReader({ ...common, secret, used: () => used(kind) }, [audience])
  const readReset = reader(resetSecret, 'reset', 'fastapi-users:reset')
  const readVerification = reader(verificationSecret, 'verification', 'fastapi-users:verify')

  return {
    find(purpose, value) {
      const genuine = purpose === 'reset_password' ? readReset(value) : readVerification(value)
      const userId = parseUserId(String(genuine?.claims.sub ?? ''))
      if (genuine === null || userId === null) return null
      const { claims, expiresAt } = genuine
      const { email, password_fgpt: fingerprint } = claims
      return {
        userId,
        expiresAt,
        async standsFor(user) {
          if (purpose === 'verify_email') return typeof email === 'string' && isAddressOf(email, user.email)
          const hashText = user.imported?.hashText ?? null
          if (hashText === null || typeof fingerprint !== 'string') return false
          // The fingerprint is a hash of the text of the hash. A thief of the secret could name any cost.
          return hashObjection(fingerprint) === null && (await hasher.verify(hashText, fingerprint)) !== 'mismatch'
        },
      }
    },
  }
}

const isAddressOf = (text: string, email: Email): boolean => emailKey(text as Email) === emailKey(email) // safe: only compared
