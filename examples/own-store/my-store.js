// @ts-check
// A store of users as a class. The records are in a map here; put your database in its place.
import {
  isActiveSuperuser,
  isUserId,
  keysOf,
  meets,
  openStore,
  passwordScheme,
  takenAmong,
  textOfKey,
} from 'portcullis'
import { memoryOutbox } from 'portcullis/testing'

/**
 * @import { AccountEvent, LoginTimes, OpenOwnStore, Taken, UniqueKey, User, UserCriteria, UserId, UserStore, WriteOptions } from 'portcullis'
 * @import { MemoryOutbox } from 'portcullis/testing'
 */

/**
 * @implements {UserStore}
 * @implements {LoginTimes}
 */
export class Users {
  /** @type {Map<UserId, User>} */
  #byId = new Map()
  /** @type {Map<UserId, Date>} */
  #logins = new Map()
  #outbox

  /** @param {MemoryOutbox} outbox */
  constructor(outbox) {
    this.#outbox = outbox
  }

  /** @param {UserId} id */
  async find(id) {
    return this.#byId.get(id) ?? null
  }

  // In a database: a table of kind, key and user, with a unique index over kind and key.
  /** @param {UniqueKey} key */
  async findBy(key) {
    return this.#all().find((user) => hasKey(user, key)) ?? null
  }

  // Each of the three writes below is one transaction: the checks, the user, and the events in the outbox.

  /** @param {User} user @param {readonly AccountEvent[]} events */
  async insert(user, events) {
    const taken = this.#taken(user)
    if (taken !== null) return taken
    this.#byId.set(user.id, user)
    this.#outbox.write(user.id, events)
    return 'stored'
  }

  /** @param {User} user @param {readonly AccountEvent[]} events @param {WriteOptions} [options] */
  async replace(user, events, { mayLeaveNoSuperuser } = {}) {
    if (this.#byId.get(user.id)?.version !== user.version) return 'stale'
    if (!mayLeaveNoSuperuser && !isActiveSuperuser(user) && this.#isLastSuperuser(user.id)) return 'last_superuser'
    if (!this.#outbox.hasRoom(user.id, events)) return 'full'
    const taken = this.#taken(user)
    if (taken !== null) return taken
    this.#byId.set(user.id, { ...user, version: user.version + 1 })
    this.#outbox.write(user.id, events)
    return 'stored'
  }

  /** @param {User} user @param {readonly AccountEvent[]} events @param {WriteOptions} [options] */
  async remove(user, events, { mayLeaveNoSuperuser } = {}) {
    if (this.#byId.get(user.id)?.version !== user.version) return 'stale'
    if (!mayLeaveNoSuperuser && this.#isLastSuperuser(user.id)) return 'last_superuser'
    this.#byId.delete(user.id)
    this.#logins.delete(user.id)
    this.#outbox.write(user.id, events)
    return 'removed'
  }

  // In a database: a table of its own, or a column, that a login updates without a new version of the user.
  /** @param {UserId} id @param {Date} at */
  async recordLogin(id, at) {
    if (this.#byId.has(id) && at > (this.#logins.get(id) ?? 0)) this.#logins.set(id, at)
  }

  /** @param {UserId} id */
  async lastLogin(id) {
    return this.#logins.get(id) ?? null
  }

  /** @param {number} limit @param {string | null} after */
  async list(limit, after) {
    const rest = this.#all().filter(({ id }) => after === null || id > after)
    const items = rest.sort((one, other) => (one.id < other.id ? -1 : 1)).slice(0, limit)
    return { items, next: items.length === limit ? (items.at(-1)?.id ?? null) : null }
  }

  // In a database: one query by the index of the criterion that the fewest users meet, and the others as filters.
  /** @param {UserCriteria} criteria @param {number} limit @param {string | null} after */
  async search(criteria, limit, after) {
    if (after !== null && !isUserId(after)) return /** @type {const} */ ('bad_cursor')
    const rest = this.#meeting(criteria).filter(({ user }) => after === null || user.id > after)
    const items = rest.sort((one, other) => (one.user.id < other.user.id ? -1 : 1)).slice(0, limit)
    return { items, next: items.length === limit ? (items.at(-1)?.user.id ?? null) : null }
  }

  /** @param {UserCriteria} criteria @param {number} most */
  async count(criteria, most) {
    const { length } = this.#meeting(criteria)
    return { count: Math.min(length, most), isComplete: length <= most }
  }

  async passwordSchemes() {
    const hashes = this.#all().flatMap(({ passwordHash }) => passwordHash ?? [])
    return [...new Set(hashes.map(passwordScheme))]
  }

  // In a database, two superusers may demote each other at once: lock one row that all such writes lock.
  /** @param {UserId} id */
  #isLastSuperuser(id) {
    const superusers = this.#all().filter(isActiveSuperuser)
    return superusers.length === 1 && superusers[0]?.id === id
  }

  /** @param {UserCriteria} criteria */
  #meeting(criteria) {
    const found = this.#all().map((user) => ({ user, lastLoginAt: this.#logins.get(user.id) ?? null }))
    return found.filter((one) => meets(one, criteria))
  }

  #all() {
    return [...this.#byId.values()]
  }

  /** @param {User} user @returns {Taken | null} */
  #taken(user) {
    const others = this.#all().filter(({ id }) => id !== user.id)
    const taken = keysOf(user).filter((key) => others.some((other) => hasKey(other, key)))
    return takenAmong(taken.map(({ kind }) => kind))
  }
}

/** @param {User} user @param {UniqueKey} wanted */
function hasKey(user, wanted) {
  return keysOf(user).some((key) => textOfKey(key) === textOfKey(wanted))
}

/** Opens the store of one tenant. @type {OpenOwnStore} */
export default async function open({ dataFolder, clock, warn }) {
  const outbox = memoryOutbox()
  // The other records of users need no transaction with them, so SQLite keeps them.
  const sqlite = await openStore({ kind: 'sqlite', dataFolder }, { clock, warn })
  const { tokenRequests, expiringMarks, tenantTexts, ping, close } = sqlite
  const users = new Users(outbox)
  return { users, loginTimes: users, outbox, tokenRequests, expiringMarks, tenantTexts, ping, close }
}
