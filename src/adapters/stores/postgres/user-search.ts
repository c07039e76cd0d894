import { isUserId, kindOf } from '../../../domain/ids.ts'
import type { User } from '../../../domain/user.ts'
import { type Bounds, behindPrefix, type Criterion, type Place, type SearchPlan, searching } from '../user-search.ts'
import type { Connection } from './connection/connection.ts'
import { dateOf, epoch } from './json-row.ts'

interface PlaceRow {
  readonly place_value: string | Date | null
  readonly place_id: string
}

type FoundRow<Row> = Row & PlaceRow & { readonly last_login: number | null }

/** The order of a search; `value` is `null` along the ids alone. Each order is that of an index. */
interface Order {
  readonly from: string
  /** Adds the users to an index that has none of their columns. */
  readonly join?: string
  readonly value: string | null
}

function orderOf(along: Criterion | null): Order {
  const from = '@user_private AS person'
  switch (along?.of) {
    case 'key':
      return along.prefix.field === null
        ? { from, value: 'email_key' }
        : { from: '@field_claims AS claim', join: ` JOIN ${from} USING (user_id)`, value: 'claim.key' }
    case 'createdAt':
      return { from, value: 'created_at' }
    case 'lastLoginAt':
      return { from, value: 'last_login_at' }
    default:
      return { from, value: null }
  }
}

/** Adds a value of the statement, and returns its parameter. */
type Add = (value: unknown) => string

const flags = { isVerified: 'is_verified', isSuperuser: 'is_superuser' }

function conditionOf(criterion: Criterion, add: Add): string {
  switch (criterion.of) {
    case 'key':
    case 'noKey': {
      const { field, text } = criterion.prefix
      const within = (key: string): string => `${key} >= ${add(text)} AND ${key} < ${add(behindPrefix(text))}`
      if (criterion.of === 'key') {
        return field === null ? within('email_key') : `claim.field = ${add(field)} AND ${within('claim.key')}`
      }
      if (field === null) return `NOT (${within('email_key')})`
      const holding = `own.user_id = person.user_id AND own.field = ${add(field)} AND ${within('own.key')}`
      return `NOT EXISTS (SELECT 1 FROM @field_claims AS own WHERE ${holding})`
    }
    case 'createdAt':
    case 'lastLoginAt': {
      const column = criterion.of === 'createdAt' ? 'created_at' : 'last_login_at'
      const { from, to } = criterion
      return [...(from ? [`${column} >= ${add(from)}`] : []), ...(to ? [`${column} < ${add(to)}`] : [])].join(' AND ')
    }
    case 'hasFactor': {
      if (criterion.now === null) return criterion.is ? 'factors IS NOT NULL' : 'factors IS NULL'
      const isDue = `coalesce((factors::jsonb ->> 'resetAt')::bigint <= ${add(criterion.now.getTime())}::bigint, false)`
      return criterion.is ? `factors IS NOT NULL AND NOT ${isDue}` : `(factors IS NULL OR ${isDue})`
    }
    case 'isActive': {
      const { is, now } = criterion
      if (now === null) return is ? 'is_active' : 'NOT is_active'
      if (is) return `(is_active OR inactive_until <= ${add(now)})`
      return `NOT is_active AND (inactive_until IS NULL OR inactive_until > ${add(now)})`
    }
    default:
      return `${criterion.is ? '' : 'NOT '}${flags[criterion.of]}`
  }
}

/**
 * The rows of a plan between two places. A key belongs to one user, so it is a place alone.
 *
 * @param isOfIndex without the filters and the users
 */
function ranged({ along, filters }: SearchPlan, { after, end }: Bounds, isOfIndex = false) {
  const values: unknown[] = []
  const add: Add = (value) => `$${values.push(value)}`
  const { from, join = '', value } = orderOf(along)
  const isKey = along?.of === 'key'
  const columns = [...(value === null ? [] : [value]), ...(isKey ? [] : ['user_id'])]
  const bound = (place: Place): string => {
    const at = typeof place.value === 'number' ? new Date(place.value) : place.value
    return [...(value === null ? [] : [add(at)]), ...(isKey ? [] : [add(place.id)])].join(', ')
  }
  const criteria = [...(along === null ? [] : [along]), ...(isOfIndex ? [] : filters)]
  const conditions = criteria.map((one) => conditionOf(one, add))
  if (after !== null) conditions.push(`(${columns.join(', ')}) > (${bound(after)})`)
  if (end !== null) conditions.push(`(${columns.join(', ')}) <= (${bound(end)})`)
  const where = conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`
  return {
    rows: `FROM ${from}${isOfIndex ? '' : join}${where}`,
    order: `ORDER BY ${columns.join(', ')}`,
    place: `${value} AS place_value, user_id::text AS place_id`,
    values,
    add,
  }
}

/**
 * @param user the columns of a user
 * @param userOf reads them
 */
export function postgresSearch<Row extends object>(
  { all, one, ids }: Connection,
  user: string,
  userOf: (row: Row) => User,
) {
  return searching({
    async placeOf(plan, after, number) {
      const { rows, order, place, values, add } = ranged(plan, { after, end: null }, true)
      const text = `SELECT ${place} ${rows} ${order} LIMIT 1 OFFSET ${add(number - 1)}`
      const found = await one<PlaceRow>(text, values)
      return found === undefined ? null : placeIn(found)
    },

    async find(plan, bounds, limit) {
      const { rows, order, place, values, add } = ranged(plan, bounds)
      const text = `SELECT ${user}, ${epoch('last_login_at')} AS last_login, ${place} ${rows} ${order} LIMIT ${add(limit)}`
      return (await all<FoundRow<Row>>(text, values)).map((row) => {
        const { last_login: at } = row
        return { found: { user: userOf(row), lastLoginAt: at === null ? null : dateOf(at) }, place: placeIn(row) }
      })
    },

    async count(plan, bounds, limit) {
      const { rows, values, add } = ranged(plan, bounds, plan.filters.length === 0)
      const text = `SELECT count(*)::int AS found FROM (SELECT 1 ${rows} LIMIT ${add(limit)}) AS counted`
      return (await one<{ found: number }>(text, values))?.found ?? 0
    },

    isId: (text) => isUserId(text) && kindOf(text) === ids(),
  })
}

function placeIn({ place_value: value, place_id: id }: PlaceRow): Place {
  return { value: value instanceof Date ? value.getTime() : value, id }
}
