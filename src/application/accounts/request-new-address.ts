import { type Email, emailKey } from '../../domain/email.ts'
import { type EventMetadata, newAddressEvent } from '../../domain/events.ts'
import type { UserId } from '../../domain/ids.ts'
import { isSameFact, type NewAddressFact, newAddressFact } from '../../domain/one-time-token.ts'
import { Refusal, Unavailable } from '../../domain/refusal.ts'
import type { User } from '../../domain/user.ts'
import { unique } from '../../domain/user-record.ts'
import type { ChangeOutcome, ChangeUser } from '../change-user.ts'
import type { Caller, Limits } from '../limits/limits.ts'
import { type IssueNeeds, issueToken } from '../one-time-tokens/issue-token.ts'
import type { UserStore } from '../ports/stores/user-store.ts'
import { type Changed, writeOf } from './account-changes.ts'

export interface NewAddressNeeds {
  users: UserStore
  limits: Limits
  /** The needs of the tokens that confirm new addresses; `null` if a new address takes effect at once. */
  newAddressTokens: IssueNeeds | null
}

/** An entered address that a token has to confirm, unless it is the present one. */
export interface EnteredAddress {
  readonly email: Email
  /** Whether the user gets a token for it. */
  readonly isSent: boolean
}

/**
 * Returns the entered address; `null` if a new one takes effect at once. The refusal reveals whether the address has an
 * account, so the requests of each client are limited.
 */
export async function enterAddress(
  { users, limits, newAddressTokens }: NewAddressNeeds,
  email: Email,
  user: User,
  { client, requestId }: Caller & { readonly requestId: string },
): Promise<EnteredAddress | null> {
  const account = emailKey(email)
  // A user who has mistyped the new address may enter the present one again.
  if (account === emailKey(user.email)) return newAddressTokens && { email, isSent: false }
  return await limits.request('tokenRequests', client, async () => {
    if (newAddressTokens === null) return null
    const owner = await users.findBy(unique.email(account))
    // Only the use of the token decides whether the address is free; this refusal tells the user early.
    if (owner !== null && owner.id !== user.id) throw new Refusal('UPDATE_USER_EMAIL_ALREADY_EXISTS')
    const isSent = await limits.maySendToken({ purpose: 'change_email', account, device: null, requestId })
    return { email, isSent }
  })
}

interface RequestNeeds extends IssueNeeds {
  users: UserStore
  changeUser: ChangeUser
}

/** The changed record, with its events. Repeats every check of the record, and may refuse. */
type MakeChange = (fresh: User) => Promise<Changed>

const maxAttempts = 5

/**
 * Writes the request for an address in one write with the changes that take effect at once. The token is stored before. It is
 * bound to the record after the write, so both start again if the address or the generation has changed meanwhile.
 */
export async function requestNewAddress(
  needs: RequestNeeds,
  id: UserId,
  entered: EnteredAddress,
  makeChange: MakeChange,
  metadata: EventMetadata,
): Promise<ChangeOutcome> {
  const { users, changeUser } = needs
  for (let attempt = 1; attempt <= maxAttempts; attempt++) {
    const before = await users.find(id)
    if (before === null) return { type: 'gone' }
    const { user: planned } = await makeChange(before)
    const fact = newAddressFact(planned, entered.email)
    const isRequested = await storeToken(needs, planned, fact, entered, metadata)

    const outcome = await changeUser.execute(id, async (fresh) => {
      const { user, events } = await makeChange(fresh)
      if (!isSameFact(newAddressFact(user, entered.email), fact)) return { type: 'keep' }
      const requested = isRequested ? [newAddressEvent(user, entered.email, metadata)] : []
      return writeOf({ user, events: [...events, ...requested] })
    })
    const isWritten = outcome.type !== 'changed' || isSameFact(newAddressFact(outcome.user, entered.email), fact)
    if (isWritten) return outcome
  }
  throw new Unavailable('other requests change the address or the logins all the time')
}

/**
 * Stores the token of the entered address, in place of any other, or only removes another one. The delivery hands out only a
 * token that it finds, so a user who withdraws an address can be sure that no waiting event brings it back.
 *
 * @returns whether the user gets the token
 */
async function storeToken(
  needs: IssueNeeds,
  user: User,
  fact: NewAddressFact,
  { isSent }: EnteredAddress,
  { eventId }: EventMetadata,
): Promise<boolean> {
  const purpose = 'change_email'
  if (isSent && emailKey(fact.newEmail) !== fact.email) {
    await issueToken(needs, { purpose, user, fact, eventId, isRepeated: false })
    return true
  }
  const { tokens } = needs
  const token = await tokens.current(purpose, user.id)
  if (token !== null && !isSameFact(token.fact, fact)) await tokens.remove(purpose, token.digest)
  return false
}
