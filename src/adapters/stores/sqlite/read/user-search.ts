import type { User } from '../../../../domain/user.ts'
import { type Bounds, behindPrefix, type Criterion, type Place, type SearchPlan, searching } from '../../user-search.ts'
import type { Read } from '../connection.ts'
import { columnOf, type UserRow } from '../rows.ts'

type Value = string | number | bigint

/** A row, where `place` is read as text: a number of JavaScript does not hold every rowid. */
interface FoundRow extends UserRow {
  readonly last_login_at: number | null
  readonly place_value: string | number | null
  readonly place_id: string
}

/** The order of a search, and the index that has it. */
interface Order {
  readonly from: string
  /** Adds the users to an index that has none of their columns. */
  readonly join?: string
  /** `null` along the rowids alone. */
  readonly value: string | null
}

function orderOf(along: Criterion | null): Order {
  switch (along?.of) {
    case 'key':
      return { from: 'user_keys', join: ' CROSS JOIN users ON row_id = user_row', value: 'key' }
    case 'createdAt':
      return { from: 'users INDEXED BY users_created', value: 'created_at' }
    case 'lastLoginAt':
      return { from: 'users INDEXED BY users_last_login', value: 'last_login_at' }
    case 'isSuperuser':
      return { from: 'users INDEXED BY users_superusers', value: null }
    case 'isActive':
      return { from: 'users INDEXED BY users_inactive', value: null }
    case 'hasFactor':
      return { from: 'users INDEXED BY users_factors', value: null }
    case 'isVerified':
      return { from: 'users INDEXED BY users_verified', value: null }
    default:
      return { from: 'users NOT INDEXED', value: null }
  }
}

const holding = 'user_keys AS own WHERE own.user_row = row_id AND own.kind = ? AND own.key >= ? AND own.key < ?'

const nowhere: Bounds = { after: null, end: null }

/**
 * The condition of a criterion; its values are added to `values`. A `+` keeps a limit of the criterion from the index: SQLite uses one
 * lower and one upper limit, and has to use those of the page.
 */
function conditionOf(criterion: Criterion, values: Value[], { after, end } = nowhere): string {
  const [low, high] = [after === null ? '' : '+', end === null ? '' : '+']
  switch (criterion.of) {
    case 'key':
    case 'noKey': {
      const { field, text } = criterion.prefix
      values.push(field === null ? 'email' : `field:${field}`, text, behindPrefix(text))
      if (criterion.of === 'key') return `kind = ? AND ${low}key >= ? AND ${high}key < ?`
      return `NOT EXISTS (SELECT 1 FROM ${holding})`
    }
    case 'createdAt':
    case 'lastLoginAt': {
      const column = criterion.of === 'createdAt' ? 'created_at' : 'last_login_at'
      const { from, to } = criterion
      if (from !== undefined) values.push(from.getTime())
      if (to !== undefined) values.push(to.getTime())
      const limits = [...(from ? [`${low}${column} >= ?`] : []), ...(to ? [`${high}${column} < ?`] : [])]
      return [`${column} IS NOT NULL`, ...limits].join(' AND ')
    }
    case 'hasFactor':
    case 'isActive': {
      const [column, until] = [columnOf(criterion.of), columnOf(`${criterion.of}Until`)]
      const [is, isNot] = [`${column} = ${Number(criterion.is)}`, `${column} = ${Number(!criterion.is)}`]
      if (criterion.now === null) return is
      values.push(criterion.now.getTime())
      // Only the value that few users have ends by itself, and only its condition needs an index.
      const isRare = criterion.is === (criterion.of === 'hasFactor')
      return isRare ? `${is} AND (${until} IS NULL OR ${until} > ?)` : `(${is} OR (${isNot} AND ${until} <= ?))`
    }
    default:
      return `${columnOf(criterion.of)} = ${Number(criterion.is)}`
  }
}

/**
 * The rows of a plan between two places. A key belongs to one user, so it is a place alone.
 *
 * @param isOfIndex without the filters and the users
 */
function ranged({ along, filters }: SearchPlan, { after, end }: Bounds, isOfIndex = false) {
  const values: Value[] = []
  const { from, join = '', value } = orderOf(along)
  const isKey = along?.of === 'key'
  const columns = isKey ? value : value === null ? 'row_id' : `(${value}, place)`
  const bound = (place: Place): string => {
    if (value !== null) values.push(place.value ?? '')
    if (!isKey) values.push(BigInt(place.id))
    return isKey || value === null ? '?' : '(?, ?)'
  }
  const conditions = [
    ...(along === null ? [] : [conditionOf(along, values, { after, end })]),
    ...(isOfIndex ? [] : filters).map((one) => conditionOf(one, values)),
  ]
  if (after !== null) conditions.push(`${columns} > ${bound(after)}`)
  if (end !== null) conditions.push(`${columns} <= ${bound(end)}`)
  const where = conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`
  const order = isKey ? value : value === null ? 'row_id' : `${value}, place`
  return {
    rows: `FROM ${from}${isOfIndex ? '' : join}${where}`,
    order: `ORDER BY ${order}`,
    place: `${value} AS place_value, ${isKey ? `'0'` : 'CAST(row_id AS TEXT)'} AS place_id`,
    values,
  }
}

const smallest = -(2n ** 63n)

/** Each query reads the index that the plan names. */
export function sqliteSearch(read: Read, userOf: (row: UserRow) => User) {
  return searching({
    async placeOf(plan, after, number) {
      const { rows, order, place, values } = ranged(plan, { after, end: null }, true)
      const text = `SELECT ${place} ${rows} ${order} LIMIT 1 OFFSET ?`
      const found = read((sql) => sql<Value[], FoundRow>(text).get(...values, number - 1))
      return found === undefined ? null : placeIn(found)
    },

    async find(plan, bounds, limit) {
      const { rows, order, place, values } = ranged(plan, bounds)
      const text = `SELECT users.*, ${place} ${rows} ${order} LIMIT ?`
      return read((sql) => sql<Value[], FoundRow>(text).all(...values, limit)).map((row) => {
        const { last_login_at: at } = row
        return { found: { user: userOf(row), lastLoginAt: at === null ? null : new Date(at) }, place: placeIn(row) }
      })
    },

    async count(plan, bounds, limit) {
      const { rows, values } = ranged(plan, bounds, plan.filters.length === 0)
      const text = `SELECT count(*) AS found FROM (SELECT 1 ${rows} LIMIT ?)`
      return read((sql) => sql<Value[], { found: number }>(text).get(...values, limit))?.found ?? 0
    },

    isId: (text) => /^-?\d{1,19}$/.test(text) && BigInt(text) >= smallest && BigInt(text) < -smallest,
  })
}

const placeIn = ({ place_value: value, place_id: id }: FoundRow): Place => ({ value, id })
