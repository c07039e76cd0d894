import { factOf, type OneTimeToken, type RequestPurpose } from '../../domain/one-time-token.ts'
import { isAsImported, type User } from '../../domain/user.ts'
import type { FormerLinks } from '../ports/former-links.ts'
import { findRedeemable, type RedeemNeeds } from './redeem-token.ts'

export interface FormerNeeds extends RedeemNeeds {
  /** `undefined`: links of another system are not read. */
  formerLinks?: FormerLinks | undefined
}

/**
 * Finds the user of a link that another system has sent, as `findRedeemable` does for our own tokens. The link has no record
 * here: a reset ends it by the new generation, and a verified address needs no further link.
 */
export async function findFormer(
  { users, keyRing, formerLinks }: FormerNeeds,
  purpose: RequestPurpose,
  value: string,
): Promise<{ token: Omit<OneTimeToken, 'eventId' | 'createdAt'>; user: User } | null> {
  const link = formerLinks?.find(purpose, value) ?? null
  const user = link === null ? null : await users.find(link.userId)
  if (link === null || user === null || !isAsImported(user) || !(await link.standsFor(user))) return null
  const [digest, fact] = [keyRing.digest(value), factOf(purpose, user)]
  return { user, token: { purpose, userId: user.id, digest, fact, expiresAt: link.expiresAt } }
}

/** Finds the active user who may choose a password with a token: of a reset, an invitation, or a link of another system. */
export async function findForPassword(needs: FormerNeeds, value: string): ReturnType<typeof findFormer> {
  const found =
    (await findRedeemable(needs, 'reset_password', value)) ??
    (await findRedeemable(needs, 'invite', value)) ??
    (await findFormer(needs, 'reset_password', value))
  return found?.user.isActive ? found : null
}
