import { openFastapiUsers } from '../../../src/adapters/transfer/fastapi-users/fastapi-users.ts'
import type { FastapiUsersOptions } from '../../../src/adapters/transfer/fastapi-users/options.ts'
import type { Arrival, ArrivingUser } from '../../../src/application/ports/user-source.ts'

export const day = 86_400_000
/** The time at which the tests read the dumps. */
export const now = new Date('2026-11-28T00:00:00Z')

/** Everything that the reader gives, with the own fields of the application. */
export async function readFormer(from: string, more: Partial<FastapiUsersOptions> = {}, after: string | null = null) {
  const warnings: string[] = []
  const source = await openFastapiUsers({
    from,
    fieldsIfThere: ['first_name', 'birthday', 'role', 'newsletter', 'age'],
    lifetimeSeconds: 30 * 86_400,
    now,
    warn: (message) => warnings.push(message),
    ...more,
  })
  try {
    const arrivals: Arrival[] = []
    for await (const arrival of source.arrivals(after)) arrivals.push(arrival)
    const records = arrivals.map(({ record }) => record)
    return {
      arrivals,
      warnings,
      users: records.filter((one): one is ArrivingUser => one.type === 'user'),
      reasons: records.flatMap(reasonsOf),
    }
  } finally {
    await source.close()
  }
}

function reasonsOf(record: Arrival['record']): readonly string[] {
  if (record.type === 'unreadable') return [record.reason]
  const lacks = record.type === 'user' ? (record.lacks ?? []) : []
  return lacks.length === 0 ? [] : [['user', record.id, `lacks something; ${lacks.join('; ')}`].join(' ')]
}

export function userOf({ users }: { readonly users: readonly ArrivingUser[] }, email: string): ArrivingUser {
  const found = users.find((one) => one.email === email)
  if (found === undefined) throw new Error(`${email} was not read`)
  return found
}
