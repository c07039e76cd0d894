import type { Document, Filter, MongoClient } from 'mongodb'
import { Unavailable } from '../../../domain/refusal.ts'
import { orClose } from '../../../lib/closing.ts'
import { objection } from '../../stores/mongo/connection/address.ts'
import { isOutage } from '../../stores/mongo/connection/outages.ts'
import { Unsuitable } from '../../stores/store-backend.ts'
import type { FastapiUsersOptions } from './options.ts'
import {
  maxLinks,
  maxTokens,
  type Pass,
  pageSize,
  type SourceRow,
  type SourceRows,
  type Values,
} from './source-rows.ts'
import { fieldColumns, openTable, warnOfOthers } from './sql-tables.ts'

type Driver = typeof import('mongodb')

const linksColumn = 'oauth_accounts'
/**
 * The oldest and the newest documents, so many of each, from which the names of fields are taken, because a collection declares none.
 * The oldest ones may lack fields that the application has added later.
 */
const sampleSize = 100

/** Opens a database of Beanie, to read only. Throws `Unsuitable` if a collection or a field is missing. */
export async function openMongoRows(options: FastapiUsersOptions): Promise<SourceRows> {
  const driver = await import('mongodb')
  const fault = objection(options.from)
  if (fault !== null) throw new Unsuitable(`--from ${fault}`)
  const client = new driver.MongoClient(options.from, {
    serverSelectionTimeoutMS: 10_000,
    appName: 'portcullis import',
  })
  return await orClose(rowsIn(driver, client, options), () => client.close())
}

async function rowsIn(driver: Driver, client: MongoClient, options: FastapiUsersOptions): Promise<SourceRows> {
  const database = client.db()

  const asked = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work()
    } catch (error) {
      if (!isOutage(driver, error)) throw error
      throw new Unavailable('the database of fastapi-users does not answer', { cause: error })
    }
  }

  const finder = {
    find: (name: string) =>
      asked(async () => {
        const ends = ([1, -1] as const).map((order) =>
          database.collection(name).find().sort({ _id: order }).limit(sampleSize).toArray(),
        )
        const names = new Set((await Promise.all(ends)).flat().flatMap((one) => Object.keys(one)))
        return names.size === 0 ? null : { name, types: new Map([...names].map((one) => [one, ''])) }
      }),
    list: () =>
      asked(async () => {
        const found = await database.listCollections({}, { nameOnly: true }).toArray()
        return found.map(({ name }) => name).sort()
      }),
  }

  const beanie: FastapiUsersOptions = {
    ...options,
    columns: { ...options.columns, users: { id: '_id', ...options.columns?.users } },
  }
  const users = await openTable(finder, 'users', 'User', beanie)
  const tokens = await openTable(finder, 'tokens', 'AccessToken', beanie)
  if (users === null) throw new Unsuitable('there are no users')
  const fields = fieldColumns(users, users.name, options)
  warnOfOthers(users, { ...fields, linksColumn, revision: 'revision_id' }, options.warn)

  const collection = database.collection(users.name)
  const { id: idColumn = '_id', is_verified: verifiedColumn = 'is_verified' } = users.columns
  const ids = await asked(async () => {
    const counted = idTypes(driver).map(async (one) => {
      return { ...one, count: await collection.countDocuments({ [idColumn]: { $type: one.type } }) }
    })
    return (await Promise.all(counted)).reduce((most, one) => (one.count > most.count ? one : most))
  })

  /** The newest stored logins of the users. */
  async function tokensOf(found: readonly Document[]): Promise<ReadonlyMap<string, readonly Values[]>> {
    const own = new Map<string, Values[]>()
    if (tokens === null) return own
    const { user_id: owner = 'user_id', created_at: age = 'created_at' } = tokens.columns
    const these = database
      .collection(tokens.name)
      .find({ [owner]: { $in: found.map((one) => one[idColumn]) } })
      .sort({ [age]: -1 })
    for await (const one of these) {
      const key = String(one[owner])
      const list = own.get(key) ?? []
      own.set(key, list)
      if (list.length < maxTokens) list.push(renamed(one, tokens.columns))
    }
    return own
  }

  function filterOf(pass: Pass, after: string | null): Filter<Document> {
    const behind = after === null ? {} : { $gt: ids.parse(after) }
    const isVerified = pass === 'verified' ? true : { $ne: true }
    return { [verifiedColumn]: isVerified, [idColumn]: { $type: ids.type, ...behind } }
  }

  return {
    page: (pass, after) =>
      asked(async () => {
        if (pass === 'other') {
          const number = Number(after ?? 0)
          const others = await collection
            .find({ [idColumn]: { $not: { $type: ids.type } } }, { projection: { [idColumn]: 1 } })
            .sort({ [idColumn]: 1 })
            .skip(number)
            .limit(pageSize)
            .toArray()
          return others.map((_, at) => ({
            ...nothing,
            key: String(number + at + 1),
            fault: 'has an id of another type',
          }))
        }
        const projection = Object.fromEntries(
          [...Object.values(users.columns), ...Object.values(fields), linksColumn].map((name) => [name, 1]),
        )
        const found = await collection
          .find(filterOf(pass, after), { projection })
          .sort({ [idColumn]: 1 })
          .limit(pageSize / 10) // a document may have 16 MB
          .toArray()
        const tokens = await tokensOf(found)
        return found.map((one): SourceRow => {
          const links = Array.isArray(one[linksColumn]) ? one[linksColumn] : []
          const key = String(one[idColumn])
          return {
            key,
            user: renamed(one, users.columns),
            fields: renamed(one, fields),
            links: links.slice(0, maxLinks + 1).map((link) => Object(plain(link)) as Values), // safe: what is no object has no columns
            tokens: tokens.get(key) ?? [],
            fault: null,
          }
        })
      }),

    async orphans() {
      return [] // links are parts of the users; a look-up for each token would take too long
    },

    close: () => client.close(),
  }
}

const nothing = { user: {}, fields: {}, links: [], tokens: [] } as const

function renamed(document: Document, columns: Readonly<Record<string, string>>): Values {
  return Object.fromEntries(Object.entries(columns).map(([ours, theirs]) => [ours, plain(document[theirs])]))
}

/** A value of BSON as JSON would have it. Dates stay dates. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  if (!('_bsontype' in value)) return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, plain(one)]))
  return value._bsontype === 'Decimal128' ? Number(value.toString()) : String(value)
}

/** The types of ids, and how each is made of the text in a cursor. Users whose ids have another type than most are reported. */
function idTypes(driver: Driver): readonly { readonly type: string; parse(key: string): unknown }[] {
  return [
    { type: 'objectId', parse: (key) => new driver.ObjectId(key) },
    { type: 'binData', parse: (key) => new driver.UUID(key) },
    { type: 'number', parse: Number },
    { type: 'string', parse: (key) => key },
  ]
}
