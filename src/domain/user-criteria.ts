import { emailKey } from './email.ts'
import type { User } from './user.ts'
import { factsOf, flagAt } from './user-record.ts'

/** The beginning of the key of an address (`field: null`), or of a unique field. */
export interface KeyPrefix {
  readonly field: string | null
  readonly text: string
}

/** The users that a search finds: those that meet every criterion. `undefined`: any user meets it. */
export interface UserCriteria {
  readonly prefix?: KeyPrefix | undefined
  /** None of the keys begins so: an earlier part of the search has found the others. */
  readonly exceptPrefixes?: readonly KeyPrefix[] | undefined
  readonly isActive?: boolean | undefined
  /**
   * The time for `isActive` and `hasFactor`: a user whose deactivation has ended by then is active, and one whose reset of factors is due
   * by then has none. `undefined`: neither counts.
   */
  readonly now?: Date | undefined
  readonly isVerified?: boolean | undefined
  readonly isSuperuser?: boolean | undefined
  readonly hasFactor?: boolean | undefined
  /** At this time or later. */
  readonly createdAfter?: Date | undefined
  /** Before this time, as the next one. */
  readonly createdBefore?: Date | undefined
  /** A user without a recorded login does not meet it. */
  readonly lastLoginBefore?: Date | undefined
}

/** A user with the time of the last login; `null` if none was recorded. */
export interface FoundUser {
  readonly user: User
  readonly lastLoginAt: Date | null
}

export function meets({ user, lastLoginAt }: FoundUser, criteria: UserCriteria): boolean {
  const { prefix, exceptPrefixes = [], createdAfter, createdBefore, lastLoginBefore } = criteria
  const has = ({ field, text }: KeyPrefix): boolean => {
    const key = field === null ? emailKey(user.email) : user.fields.keys[field]
    return key?.startsWith(text) ?? false
  }
  const facts = factsOf(user)
  const now = criteria.now ?? null
  const is = (wanted: boolean | undefined, value: boolean): boolean => wanted === undefined || wanted === value
  return (
    (prefix === undefined || has(prefix)) &&
    !exceptPrefixes.some(has) &&
    is(criteria.isActive, flagAt(facts, 'isActive', now)) &&
    is(criteria.isVerified, facts.isVerified) &&
    is(criteria.isSuperuser, facts.isSuperuser) &&
    is(criteria.hasFactor, flagAt(facts, 'hasFactor', now)) &&
    (createdAfter === undefined || facts.createdAt >= createdAfter) &&
    (createdBefore === undefined || facts.createdAt < createdBefore) &&
    (lastLoginBefore === undefined || (lastLoginAt !== null && lastLoginAt < lastLoginBefore))
  )
}
