import { twoFactors } from '../../domain/factors.ts'
import type { ClientTraits } from '../../domain/session.ts'
import type { User } from '../../domain/user.ts'
import type { IssuedCredential } from '../ports/credentials.ts'
import type { Authenticated } from '../sign-in/authenticate.ts'

/** The result of every way to add a factor. */
export interface AddedFactor {
  /** For the user, once. None for a user who has had another factor. */
  readonly recoveryCodes: readonly string[]
  /** The new credential of the login, whose former one has ended; `null` for a user who has had another factor. */
  readonly issued: IssuedCredential | null
}

interface Added {
  /** As written with the factor. */
  readonly user: User
  readonly by: Authenticated
  readonly isFirst: boolean
  readonly codes: readonly string[]
  readonly traits: ClientTraits | undefined
}

/**
 * The login that has added the first factor has shown both, so it rises. It gets a new credential (ASVS 5.0 section 7.2.4), and the write
 * of the factor has ended the former one: somebody may have a copy of it.
 */
export async function addedFactor({ user, by, isFirst, codes, traits }: Added): Promise<AddedFactor> {
  if (!isFirst) return { recoveryCodes: [], issued: null }
  const { credential, backend } = by
  const { provedAt: at, sid, app } = credential
  const methods = [...new Set([...credential.methods, twoFactors])]
  const proof = { at, methods, sid, ...(app !== undefined && { app }) }
  return { recoveryCodes: codes, issued: await backend.credentials.issue(user, proof, traits) }
}
