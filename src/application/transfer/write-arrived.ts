import { emailKey } from '../../domain/email.ts'
import type { User } from '../../domain/user.ts'
import { unique } from '../../domain/user-record.ts'
import { takenField } from '../taken-field.ts'
import type { ImportTarget } from './import-target.ts'

/** A user with the parts of its record that it lacks, or the objection to the whole of it. */
export type Written = { readonly user: User; readonly remarks: readonly string[] } | { readonly objection: string }

/** Writes the user, without the links and values that other users have already. */
export async function writeArrived(
  users: ImportTarget['users'],
  arrived: Written,
  existing: User | null,
): Promise<Written | 'stale'> {
  if ('objection' in arrived) return arrived
  let { user } = arrived
  const remarks = [...arrived.remarks]
  // Each repetition has fewer links or values.
  for (;;) {
    const outcome =
      existing === null ? await users.insert(user, []) : await users.replace(user, [], { mayLeaveNoSuperuser: true })
    if (outcome === 'stored') return { user, remarks }
    if (outcome === 'stale') return outcome
    const { id } = user
    if (outcome === 'account_taken') {
      const holders = await Promise.all(
        user.oauthAccounts.map(({ provider, accountId }) => users.findBy(unique.account({ provider, accountId }))),
      )
      const isTaken = (at: number): boolean => holders[at] !== null && holders[at]?.id !== id
      const taken = user.oauthAccounts.filter((_, at) => isTaken(at))
      if (taken.length === 0) return 'stale'
      for (const { provider } of taken) remarks.push(`lacks the link to ${provider}: another user has this account`)
      user = { ...user, oauthAccounts: user.oauthAccounts.filter((_, at) => !isTaken(at)) }
    } else if (outcome === 'field_taken') {
      const field = await takenField(users, user)
      remarks.push(`lacks its value of the field ${field}: another user has it`)
      user = { ...user, fields: withoutValue(user.fields, field) }
    } else if (outcome === 'email_taken') {
      const holder = await users.findBy(unique.email(emailKey(user.email)))
      return { objection: `another user has the address in some spelling: ${holder?.id ?? 'unknown'}` }
    } else if (outcome === 'passkey_taken') return { objection: 'another user has one of its passkeys' }
    else return { objection: `the store has answered ${outcome}` }
  }
}

function withoutValue(fields: User['fields'], name: string): User['fields'] {
  const without = <T extends object>(values: T): T => ({
    ...values,
    ...(Object.hasOwn(values, name) && { [name]: null }),
  })
  const { [name]: _, ...keys } = fields.keys
  return { ...fields, shown: without(fields.shown), hidden: without(fields.hidden), keys }
}
