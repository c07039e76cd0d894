import { openFastapiUsers } from '../../adapters/transfer/fastapi-users/fastapi-users.ts'
import {
  type FastapiUsersOptions,
  type Table,
  tables,
  usualColumns,
} from '../../adapters/transfer/fastapi-users/options.ts'
import { digestOfJson, latestEnd } from '../../adapters/transfer/fastapi-users/records.ts'
import { settingsFault } from '../../config/settings/schema/fault.ts'
import { type ExitCode, remark } from '../output.ts'
import { openRecords } from './open-records.ts'
import { type ImportOptions, runImport } from './run-import.ts'

/** The options of the command line, as given. */
export interface FormerImport extends ImportOptions {
  readonly from: string
  readonly sessions?: string
  readonly sessionsPrefix?: string
  readonly usersTable?: string
  readonly linksTable?: string
  readonly tokensTable?: string
  readonly column?: readonly string[]
  readonly field?: readonly string[]
  readonly lifetime?: string
  readonly distrustVerified?: true
}

/** Brings the users of a fastapi-users application. Throws `SettingsFault` for wrong arguments. */
export async function importFastapiUsers(options: FormerImport): Promise<ExitCode> {
  const { from, sessions, sessionsPrefix, usersTable, linksTable, tokensTable, distrustVerified = false } = options
  const columns = columnsIn(options.column ?? [])
  const lifetimeSeconds = lifetimeIn(options.lifetime)
  const records = await openRecords(options)
  try {
    const declared = [...records.needs.fieldRules.fields.keys()]
    const reading = {
      ...(sessionsPrefix !== undefined && { redisKeyPrefix: sessionsPrefix }),
      tables: {
        ...(usersTable !== undefined && { users: usersTable }),
        ...(linksTable !== undefined && { links: linksTable }),
        ...(tokensTable !== undefined && { tokens: tokensTable }),
      },
      columns,
      fields: fieldsIn(options.field ?? [], declared),
      fieldsIfThere: declared,
      ...(lifetimeSeconds !== undefined && { lifetimeSeconds }),
      distrustVerified,
    }
    const source = await openFastapiUsers({
      from,
      ...(sessions !== undefined && { sessionsFrom: sessions }),
      ...reading,
      now: records.needs.clock(),
      warn: remark,
    })
    // Other options read other records, so they do not go on behind the cursor of these.
    const read = digestOfJson([reading, withoutSecrets(sessions ?? '')]).slice(0, 12)
    try {
      return await runImport(options, {
        source,
        name: `fastapi-users of ${withoutSecrets(from)}, options ${read}`,
        records,
        ...(lifetimeSeconds !== undefined && { sessionsEnd: latestEnd(lifetimeSeconds, records.needs.clock()) }),
      })
    } finally {
      await source.close()
    }
  } finally {
    await records.close()
  }
}

/** An address without user, password and options, which may hold a password, too. */
function withoutSecrets(url: string): string {
  return url.replace(/\/\/.*@/, '//').replace(/\?.*$/, '')
}

/** `users.email=mail`, or `email=mail` for a column of the users. */
function columnsIn(given: readonly string[]): NonNullable<FastapiUsersOptions['columns']> {
  const columns: Partial<Record<Table, Record<string, string>>> = {}
  for (const one of given) {
    const [, table = 'users', ours = '', theirs = ''] = /^(?:(\w+)\.)?(\w+)=(.+)$/s.exec(one) ?? []
    const known = tables.find((name) => name === table)
    const names = known === undefined ? [] : [...usualColumns[known], ...(known === 'users' ? ['created_at'] : [])]
    if (known === undefined || !names.some((name) => name === ours)) {
      const all = tables.flatMap((name) => usualColumns[name].map((column) => `${name}.${column}`))
      throw settingsFault('--column', `must be ours=theirs, where ours is one of ${all.join(', ')}, users.created_at`)
    }
    columns[known] = { ...columns[known], [ours]: theirs }
  }
  return columns
}

function fieldsIn(given: readonly string[], declared: readonly string[]): Readonly<Record<string, string>> {
  const pairs = given.map((one) => {
    const [, name = '', column = ''] = /^([^=]+)=(.+)$/s.exec(one) ?? []
    if (declared.includes(name)) return [name, column] as const
    const known = declared.length === 0 ? 'which has none' : `which has ${declared.join(', ')}`
    throw settingsFault('--field', `must be name=column with a name of users.fields, ${known}`)
  })
  return Object.fromEntries(pairs)
}

function lifetimeIn(given: string | undefined): number | null | undefined {
  if (given === undefined) return undefined
  if (given === 'none') return null
  const seconds = Number(given)
  if (Number.isSafeInteger(seconds) && seconds > 0) return seconds
  throw settingsFault('--lifetime', 'must be a whole number of seconds, or none')
}
