import type { Filter, Sort } from 'mongodb'
import { isUserId } from '../../../domain/ids.ts'
import { type Bounds, behindPrefix, type Criterion, type Place, type SearchPlan, searching } from '../user-search.ts'
import type { Connection } from './connection/connection.ts'
import { type UserDocument, userOf } from './documents.ts'

/** The order of a search, by the index that has it; `value` is `null` along the ids alone. */
function orderOf(along: Criterion | null): { readonly hint: string; readonly value: string | null } {
  switch (along?.of) {
    case 'key':
      return along.prefix.field === null
        ? { hint: 'emailKey', value: 'emailKey' }
        : { hint: 'fieldKeys', value: pathOf(along.prefix.field) }
    case 'createdAt':
      return { hint: 'createdAt', value: 'createdAt' }
    case 'lastLoginAt':
      return { hint: 'lastLoginAt', value: 'lastLoginAt' }
    case 'isSuperuser':
      return { hint: 'superusers', value: null }
    case 'isActive':
      return { hint: 'inactive', value: null }
    case 'hasFactor':
      return { hint: 'factors', value: null }
    case 'isVerified':
      return { hint: 'verified', value: null }
    default:
      return { hint: '_id_', value: null }
  }
}

const pathOf = (field: string | null): string => (field === null ? 'emailKey' : `fields.keys.${field}`)

function conditionOf(criterion: Criterion): object {
  switch (criterion.of) {
    case 'key':
    case 'noKey': {
      const { field, text } = criterion.prefix
      const range = { $gte: text, $lt: behindPrefix(text) }
      return { [pathOf(field)]: criterion.of === 'key' ? range : { $not: range } }
    }
    case 'createdAt':
    case 'lastLoginAt': {
      const { of, from, to } = criterion
      return { [of]: { ...(from && { $gte: from }), ...(to && { $lt: to }) } }
    }
    case 'hasFactor': {
      // As the partial index says it.
      const stored = { factors: criterion.is ? { $type: 'object' } : null }
      if (criterion.now === null) return stored
      const isDue = { $lte: criterion.now.getTime() }
      if (criterion.is) return { ...stored, 'factors.resetAt': { $not: isDue } }
      return { $or: [stored, { 'factors.resetAt': isDue }] }
    }
    case 'isActive': {
      const { is, now } = criterion
      if (now === null) return { isActive: is }
      if (is) return { $or: [{ isActive: true }, { inactiveUntil: { $lte: now } }] }
      return { isActive: false, inactiveUntil: { $not: { $lte: now } } }
    }
    default:
      return { [criterion.of]: criterion.is }
  }
}

const present = { removed: { $exists: false } } as const

/**
 * The documents of a plan between two places. A key belongs to one user, so it is a place alone.
 *
 * @param isOfIndex without the filters
 */
function ranged({ along, filters }: SearchPlan, { after, end }: Bounds, isOfIndex = false) {
  const { hint, value } = orderOf(along)
  const isKey = along?.of === 'key'
  const bound = (place: Place, beyond: '$gt' | '$lt', upTo: '$gt' | '$lte'): object => {
    const at = typeof place.value === 'number' ? new Date(place.value) : place.value
    if (value === null) return { _id: { [upTo]: place.id } }
    if (isKey) return { [value]: { [upTo]: at } }
    const within = beyond === '$gt' ? '$gte' : '$lte'
    return {
      [value]: { [within]: at },
      $or: [{ [value]: { [beyond]: at } }, { [value]: at, _id: { [upTo]: place.id } }],
    }
  }
  const criteria = [...(along === null ? [] : [along]), ...(isOfIndex ? [] : filters)]
  const conditions = [
    ...criteria.map(conditionOf),
    ...(after === null ? [] : [bound(after, '$gt', '$gt')]),
    ...(end === null ? [] : [bound(end, '$lt', '$lte')]),
    present,
  ]
  const filter = { $and: conditions } as Filter<UserDocument> // safe: of fields of the document
  const sort: Sort = { ...(value !== null && { [value]: 1 }), ...(!isKey && { _id: 1 }) }
  const placeIn = (document: UserDocument): Place => ({ value: valueAt(document, value), id: document._id })
  return { filter, options: { hint, sort }, placeIn }
}

function valueAt(document: UserDocument, path: string | null): Place['value'] {
  if (path === null) return null
  const found = path.split('.').reduce<unknown>((value, name) => Reflect.get(Object(value), name), document)
  return found instanceof Date ? found.getTime() : String(found)
}

/** Each query reads the index that the plan names. */
export function mongoSearch({ users, run }: Connection) {
  return searching({
    placeOf: (plan, after, number) =>
      run(async () => {
        const { filter, options, placeIn } = ranged(plan, { after, end: null }, true)
        const [found] = await users.find(filter, { ...options, skip: number - 1, limit: 1 }).toArray()
        return found === undefined ? null : placeIn(found)
      }),

    find: (plan, bounds, limit) =>
      run(async () => {
        const { filter, options, placeIn } = ranged(plan, bounds)
        const documents = await users.find(filter, { ...options, limit, projection: { outbox: 0 } }).toArray()
        return documents.map((document) => {
          const found = { user: userOf(document), lastLoginAt: document.lastLoginAt ?? null }
          return { found, place: placeIn(document) }
        })
      }),

    count: (plan, bounds, limit) =>
      run(async () => {
        const { filter, options } = ranged(plan, bounds)
        return await users.countDocuments(filter, { hint: options.hint, limit })
      }),

    isId: isUserId,
  })
}
