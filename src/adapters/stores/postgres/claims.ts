import type { User } from '../../../domain/user.ts'
import { type KeyKind, keysOf } from '../../../domain/user-record.ts'

/** The column `field` of a key. No own field has the name of the passkeys. */
export const claimName = (kind: KeyKind): string => (kind === 'passkey' ? ':passkey' : kind.replace(/^field:/, ''))

export const accountsOf = (user: User): string[] =>
  keysOf(user).flatMap(({ kind, key }) => (kind === 'account' ? key : []))

/** The names and keys in `field_claims`, in an order, so that two writes of the same keys do not wait for each other. */
export function claimsOf(user: User): readonly [names: readonly string[], keys: readonly string[]] {
  const claims = keysOf(user).filter(({ kind }) => kind !== 'email' && kind !== 'account')
  const sorted = claims
    .map(({ kind, key }) => [claimName(kind), key] as const)
    .sort((one, other) => (one < other ? -1 : 1))
  return [sorted.map(([name]) => name), sorted.map(([, key]) => key)]
}
