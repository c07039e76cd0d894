import { type EmailKey, emailKey } from './email.ts'
import type { OAuthAccount } from './oauth-account.ts'
import type { User } from './user.ts'

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
