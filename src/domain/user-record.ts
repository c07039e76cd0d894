import { type EmailKey, emailKey } from './email.ts'
import { hasFactor } from './factors.ts'
import type { UserId } from './ids.ts'
import type { OAuthAccount } from './oauth-account.ts'
import { passwordScheme } from './password.ts'
import { newUser, type User } from './user.ts'

/** The kinds of unique keys. If several keys of a user are taken, a store names the first kind in this order. */
export type KeyKind = 'email' | 'account' | `field:${string}` | 'passkey'

/** A text that at most one user of a tenant has. */
export interface UniqueKey {
  readonly kind: KeyKind
  readonly key: string
}

/** Unique keys by which a store finds a user. */
export const unique = {
  email: (key: EmailKey): UniqueKey => ({ kind: 'email', key }),
  /** An account at a provider. The key is JSON, so that no two accounts share one. */
  account: ({ provider, accountId }: Pick<OAuthAccount, 'provider' | 'accountId'>): UniqueKey => ({
    kind: 'account',
    key: JSON.stringify([provider, accountId]),
  }),
  /** The folded value of an own field. */
  field: (name: string, key: string): UniqueKey => ({ kind: `field:${name}`, key }),
  /** The id of a credential (WebAuthn Level 3 section 7.1 step 26). */
  passkey: (id: string): UniqueKey => ({ kind: 'passkey', key: id }),
}

/** The key as one text. No kind has a space. */
export const textOfKey = ({ kind, key }: UniqueKey): string => `${kind} ${key}`

/** Every unique key of `user`, in the order of `KeyKind`. */
export function keysOf({ email, oauthAccounts, fields, factors }: User): readonly UniqueKey[] {
  return [
    unique.email(emailKey(email)),
    ...oauthAccounts.map(unique.account),
    ...Object.entries(fields.keys).map(([name, key]) => unique.field(name, key)),
    ...factors.passkeys.map(({ id }) => unique.passkey(id)),
  ]
}

/**
 * Every member of a user beside `id` and `version`, as one value that a store keeps. A store may keep it as JSON, in which times are
 * texts.
 */
export type UserDocument = Readonly<Record<string, unknown>>

export function documentOf({ id, version, others, ...members }: User): UserDocument {
  return { ...others, ...members, factors: hasFactor(members) ? members.factors : null }
}

/** A new user, for the members that a record of an earlier release lacks. */
const blank = newUser('00000000-0000-0000-0000-000000000000' as UserId, '' as User['email'], null, new Date(0)) // safe: read for names and defaults alone
const memberNames: ReadonlySet<string> = new Set(Object.keys(blank))

/**
 * Reads `documentOf`. A member that is absent has the value that new users have, so records of earlier releases need no migration.
 * Members of later releases are kept in `others`, and written again. Each request reads a user: the usual record is copied once.
 */
export function userOf(id: UserId, version: number, document: UserDocument): User {
  let known = 2 // id and version
  let unknown = 0
  for (const name in document) {
    if (memberNames.has(name)) known++
    else unknown++
  }
  // Safe: a store keeps what `documentOf` has made.
  const stored = (known === memberNames.size ? document : { ...defaultsOf(id), ...document }) as unknown as User
  const user = { ...stored, id, version } as { -readonly [Name in keyof User]: User[Name] }
  user.createdAt = new Date(user.createdAt)
  user.inactiveUntil = dateOr(user.inactiveUntil)
  user.endedUntil = dateOr(user.endedUntil)
  user.factors ??= blank.factors
  user.fields ??= blank.fields
  if (user.oauthAccounts.length > 0) user.oauthAccounts = user.oauthAccounts.map(revived)
  return unknown === 0 ? user : withOthers(user)
}

const defaultsOf = (id: UserId): User => newUser(id, blank.email, null, blank.createdAt)

function withOthers(user: User): User {
  const isKnown = ([name]: [string, unknown]): boolean => memberNames.has(name)
  const all = Object.entries(user)
  const others = Object.fromEntries(all.filter((one) => !isKnown(one)))
  return { ...(Object.fromEntries(all.filter(isKnown)) as unknown as User), others } // safe: the members of a user
}

function revived({ expiresAt, refreshingUntil, ...account }: OAuthAccount): OAuthAccount {
  return { ...account, expiresAt: dateOr(expiresAt), refreshingUntil: dateOr(refreshingUntil) }
}

const dateOr = (time: Date | null): Date | null => (time === null ? null : new Date(time))

/** What a search and a count compare. A store has a column and an index for each. */
export interface Facts {
  readonly isActive: boolean
  /** When `isActive` becomes its opposite by itself; `null`: never. */
  readonly isActiveUntil: Date | null
  readonly isSuperuser: boolean
  readonly isVerified: boolean
  readonly hasFactor: boolean
  /** As `isActiveUntil`. */
  readonly hasFactorUntil: Date | null
  readonly createdAt: Date
  /** The prefix of algorithm and cost; `null` without a password. */
  readonly passwordScheme: string | null
}

// Safe: a user has these members and no others.
export const factNames = Object.keys({
  isActive: true,
  isActiveUntil: true,
  isSuperuser: true,
  isVerified: true,
  hasFactor: true,
  hasFactorUntil: true,
  createdAt: true,
  passwordScheme: true,
} satisfies Record<keyof Facts, true>) as readonly (keyof Facts)[]

export function factsOf(user: User): Facts {
  const { isActive, inactiveUntil, isSuperuser, isVerified, factors, createdAt, passwordHash } = user
  const { resetAt } = factors
  return {
    isActive,
    isActiveUntil: isActive ? null : inactiveUntil,
    isSuperuser,
    isVerified,
    hasFactor: hasFactor(user),
    hasFactorUntil: resetAt === null || !hasFactor(user) ? null : new Date(resetAt),
    createdAt,
    passwordScheme: passwordHash === null ? null : passwordScheme(passwordHash),
  }
}

/** @param now `null`: as it is stored */
export function flagAt(facts: Facts, flag: 'isActive' | 'hasFactor', now: Date | null): boolean {
  const until = facts[`${flag}Until`]
  return facts[flag] !== (now !== null && until !== null && until <= now)
}
