// @ts-check
// A store of users in one file of JSON lines. All records are in memory. Each change appends and syncs one line before the
// method answers, and the next opening reads the lines again. One process at a time opens the file.
import { randomUUID } from 'node:crypto'
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import {
  fullSinkSeconds,
  haveRoom,
  isActiveSuperuser,
  isUserId,
  keysOf,
  maxWaitingDeliveries,
  maxWaitingRequests,
  meets,
  passwordScheme,
  takenAmong,
  tenantRecordId,
  textOfKey,
  Unavailable,
  Unsuitable,
} from 'portcullis'

/**
 * @import { AccountEvent, LeasedEvent, Page, TokenRequest, UndeliveredEvent, UndeliveredRequest } from 'portcullis'
 * @import { EventId, SinkName, Taken, User, UserCriteria, UserId, UsersRole } from 'portcullis'
 *
 * @typedef {object} Queue the events of one user that wait for one sink; the queue outlives the user
 * @property {UserId} userId
 * @property {SinkName | null} sink `null`: they wait for their distribution to sinks
 * @property {{ event: AccountEvent, attempts: number, reason: string | null }[]} events never empty
 * @property {string | null} leaseId the current lease, or `null`
 * @property {Date} heldUntil the end of the lease or of the postponement
 *
 * @typedef {UndeliveredRequest & { boundFact: string | null, heldUntil: Date }} Request a waiting one or a dead letter
 *
 * @typedef {object} State maps from key to record
 * @property {Map<string, User>} users by id
 * @property {Map<string, Queue>} queues by user id and sink
 * @property {Map<string, UndeliveredEvent & { userId: UserId, diedAt: Date }>} dead by event id and sink
 * @property {Map<string, Request>} requests by id
 * @property {Map<string, Request & { diedAt: Date }>} deadRequests by event id
 * @property {Map<string, Date>} ends by id: until when it is remembered
 * @property {Map<string, string>} marks
 * @property {Map<string, Date>} logins by user id: the last one
 *
 * @typedef {[keyof State, key: string, record: object | string | null]} Change `null` removes the record
 */

const never = new Date(0)
const untried = { attempts: 0, reason: null, diedAt: null, heldUntil: never }
const linesBeforeRewriting = 10_000

/**
 * Opens or creates the file. The methods below are atomic because none awaits between its check and its write:
 * JavaScript runs one turn at a time, and no other process opens the file.
 *
 * @param {string} path
 * @param {{ clock?: () => Date }} [options]
 * @returns {UsersRole & { close(): void }} without `userIds`, so that the users have UUIDs
 */
export function openJournalStore(path, { clock = () => new Date() } = {}) {
  lock(path)
  /** @type {State} */
  const state = {
    users: new Map(),
    queues: new Map(),
    dead: new Map(),
    requests: new Map(),
    deadRequests: new Map(),
    ends: new Map(),
    marks: new Map(),
    logins: new Map(),
  }
  /** @type {Map<string, User>} */
  const byKey = new Map()
  const journal = openJournal(path, state, apply)

  /** @param {readonly Change[]} changes all of them, or none */
  function commit(...changes) {
    if (changes.length === 0) return
    journal.append(changes)
    changes.forEach(apply)
  }

  /** @param {Change} change */
  function apply([kind, key, record]) {
    const records = /** @type {Map<string, unknown>} */ (state[kind])
    if (kind === 'users') index(state.users.get(key), /** @type {User | null} */ (record))
    // A changed record moves to the end, so that the queue that waits longest is always the first.
    records.delete(key)
    if (record !== null) records.set(key, record)
  }

  /** @param {User | undefined} before @param {User | null} after */
  function index(before, after) {
    if (before) for (const key of keysOf(before)) byKey.delete(textOfKey(key))
    if (after) for (const key of keysOf(after)) byKey.set(textOfKey(key), after)
  }

  /** @param {User} user @returns {Taken | null} */
  function taken(user) {
    const taken = keysOf(user).filter((key) => (byKey.get(textOfKey(key)) ?? user).id !== user.id)
    return takenAmong(taken.map(({ kind }) => kind))
  }

  /** @param {UserId} id */
  function isLastSuperuser(id) {
    const superusers = [...state.users.values()].filter(isActiveSuperuser)
    return superusers.length === 1 && superusers[0]?.id === id
  }

  /** @param {UserCriteria} criteria */
  function meeting(criteria) {
    const found = [...state.users.values()].map((user) => ({ user, lastLoginAt: state.logins.get(user.id) ?? null }))
    return found.filter((one) => meets(one, criteria))
  }

  /** @param {UserId} userId @param {readonly AccountEvent[]} events @param {SinkName | null} sink @returns {Change[]} */
  function queued(userId, events, sink = null) {
    if (events.length === 0) return []
    const key = keyOf(userId, sink)
    const queue = state.queues.get(key) ?? { userId, sink, events: [], leaseId: null, heldUntil: never }
    const added = events.map((event) => ({ event, attempts: 0, reason: null }))
    return [['queues', key, { ...queue, events: [...queue.events, ...added] }]]
  }

  /** @param {UserId} userId @param {readonly AccountEvent[]} events */
  const hasRoom = (userId, events) => haveRoom(events, state.queues.get(keyOf(userId, null))?.events.length ?? 0)

  /** @param {SinkName | null} sink @param {Date} now @param {number} limit */
  const dueFor = (sink, now, limit) =>
    [...state.queues.values()].filter((queue) => queue.sink === sink && queue.heldUntil <= now).slice(0, limit)

  /** @param {Queue} queue @returns {Change} */
  const changed = (queue) => ['queues', keyOf(queue.userId, queue.sink), queue]

  /** @param {Queue} queue @returns {Change} without its first event */
  function advanced({ userId, sink, events }) {
    const rest = events.slice(1)
    if (rest.length === 0) return ['queues', keyOf(userId, sink), null]
    return changed({ userId, sink, events: rest, leaseId: null, heldUntil: never })
  }

  /** @param {EventId} eventId @param {SinkName | null} sink @returns {Change | null} `null` if there is no such delivery */
  function withoutDelivery(eventId, sink) {
    if (state.dead.has(keyOf(eventId, sink))) return ['dead', keyOf(eventId, sink), null]
    const queue = [...state.queues.values()].find(
      (one) => sink !== null && one.sink === sink && one.events.some(({ event }) => event.id === eventId),
    )
    if (queue === undefined) return null
    const events = queue.events.filter(({ event }) => event.id !== eventId)
    if (events.length === 0) return ['queues', keyOf(queue.userId, sink), null]
    const isFirst = queue.events[0]?.event.id === eventId
    return changed({ ...queue, events, leaseId: isFirst ? null : queue.leaseId }) // a lease is for the first one alone
  }

  /**
   * Commits the changes that `act` returns for the queue, if the lease is still current.
   *
   * @param {LeasedEvent} lease @param {(queue: Queue) => Change[]} act
   */
  async function whileLeased(lease, act) {
    const queue = state.queues.get(keyOf(lease.userId, lease.sink))
    if (queue === undefined || queue.leaseId !== lease.leaseId) return false
    commit(...act(queue))
    return true
  }

  /** @param {TokenRequest} request finds its waiting entry */
  function waitingFor(request) {
    const waiting = state.requests.get(request.id)
    return waiting?.request.eventId === request.eventId ? waiting : undefined
  }

  return {
    users: {
      async find(id) {
        return state.users.get(id) ?? null
      },
      async findBy(key) {
        return byKey.get(textOfKey(key)) ?? null
      },
      async insert(user, events) {
        const objection = taken(user)
        if (objection !== null) return objection
        commit(['users', user.id, user], ...queued(user.id, events)) // one line for the user and the events
        return 'stored'
      },
      async replace(user, events, { mayLeaveNoSuperuser } = {}) {
        if (state.users.get(user.id)?.version !== user.version) return 'stale'
        if (!mayLeaveNoSuperuser && !isActiveSuperuser(user) && isLastSuperuser(user.id)) return 'last_superuser'
        if (!hasRoom(user.id, events)) return 'full'
        const objection = taken(user)
        if (objection !== null) return objection
        commit(['users', user.id, { ...user, version: user.version + 1 }], ...queued(user.id, events))
        return 'stored'
      },
      async remove(user, events, { mayLeaveNoSuperuser } = {}) {
        if (state.users.get(user.id)?.version !== user.version) return 'stale'
        if (!mayLeaveNoSuperuser && isLastSuperuser(user.id)) return 'last_superuser'
        commit(['users', user.id, null], ['logins', user.id, null], ...queued(user.id, events))
        return 'removed'
      },
      async list(limit, after) {
        return pageOf([...state.users.values()], ({ id }) => id, limit, after)
      },
      async search(criteria, limit, after) {
        if (after !== null && !isUserId(after)) return 'bad_cursor'
        return pageOf(meeting(criteria), ({ user }) => user.id, limit, after)
      },
      async count(criteria, most) {
        const { length } = meeting(criteria)
        return { count: Math.min(length, most), isComplete: length <= most }
      },
      async passwordSchemes() {
        const hashes = [...state.users.values()].flatMap(({ passwordHash }) => passwordHash ?? [])
        return [...new Set(hashes.map(passwordScheme))]
      },
    },

    outbox: {
      async append(events) {
        if (!hasRoom(tenantRecordId, events)) return 'full'
        commit(...queued(tenantRecordId, events))
        return 'stored'
      },
      async distribute(now, limit, sinksOf) {
        const due = dueFor(null, now, limit)
        for (const { userId, events, ...queue } of due) {
          const sinks = [...new Set(events.flatMap(({ event }) => sinksOf[event.type] ?? []))]
          const waitingFor = (/** @type {SinkName} */ sink) => state.queues.get(keyOf(userId, sink))?.events ?? []
          if (sinks.some((sink) => waitingFor(sink).length >= maxWaitingDeliveries)) {
            commit(changed({ userId, events, ...queue, heldUntil: secondsAfter(now, fullSinkSeconds) }))
            continue
          }
          const moved = sinks.flatMap((sink) => {
            const known = new Set(waitingFor(sink).map(({ event }) => event.id))
            const isNew = (/** @type {AccountEvent} */ { id, type }) =>
              sinksOf[type]?.includes(sink) && !known.has(id) && !state.dead.has(keyOf(id, sink))
            const added = events.map(({ event }) => event).filter(isNew)
            return queued(userId, added, sink)
          })
          commit(...moved, ['queues', keyOf(userId, null), null])
        }
        return due.length
      },
      async lease(sink, now, limit, leaseSeconds) {
        const heldUntil = secondsAfter(now, leaseSeconds)
        /** @type {LeasedEvent[]} */
        const leases = []
        /** @type {Change[]} */
        const changes = []
        for (const queue of dueFor(sink, now, limit)) {
          const [head, ...later] = queue.events
          if (head === undefined) continue
          const leaseId = randomUUID()
          const leased = { ...head, attempts: head.attempts + 1 }
          changes.push(changed({ ...queue, events: [leased, ...later], leaseId, heldUntil }))
          leases.push({ sink, userId: queue.userId, leaseId, event: leased.event, attempts: leased.attempts })
        }
        commit(...changes)
        return leases
      },
      renew: (lease, heldUntil) => whileLeased(lease, (queue) => [changed({ ...queue, heldUntil })]),
      settle: (lease) => whileLeased(lease, (queue) => [advanced(queue)]),
      postpone: (lease, heldUntil, reason) =>
        whileLeased(lease, (queue) => {
          const events = queue.events.map((one, at) => (at === 0 ? { ...one, reason } : one))
          return [changed({ ...queue, events, leaseId: null, heldUntil })]
        }),
      bury: (lease, diedAt, reason) =>
        whileLeased(lease, (queue) => {
          const { userId, sink, event, attempts } = lease
          return [advanced(queue), ['dead', keyOf(event.id, sink), { userId, sink, event, attempts, reason, diedAt }]]
        }),
      release: (lease, until) =>
        whileLeased(lease, (queue) => {
          const events = queue.events.map((one, at) => (at === 0 ? { ...one, attempts: one.attempts - 1 } : one))
          return [changed({ ...queue, events, leaseId: null, heldUntil: until })]
        }),
      async nextDue(sinks) {
        const wanted = [...state.queues.values()].filter(({ sink }) => sink === null || sinks.includes(sink))
        const soonest = Math.min(...wanted.map(({ heldUntil }) => heldUntil.getTime()))
        return wanted.length === 0 ? null : new Date(Math.max(soonest, clock().getTime()))
      },
      async list(deliveryState, limit, after) {
        const waiting = [...state.queues.values()].flatMap(({ sink, events }) =>
          events.map((one) => ({ sink, ...one, diedAt: null })),
        )
        /** @type {UndeliveredEvent[]} */
        const all = deliveryState === 'dead' ? [...state.dead.values()].map(({ userId, ...shown }) => shown) : waiting
        return pageOf(all, ({ event, sink }) => keyOf(event.id, sink), limit, after)
      },
      async count(deliveryState, limit) {
        const waiting = [...state.queues.values()].flatMap(({ events }) => events)
        return Math.min(limit, deliveryState === 'dead' ? state.dead.size : waiting.length)
      },
      async countBySink(limit) {
        /** @type {Map<SinkName, number>} */
        const counts = new Map()
        for (const { sink, events } of state.queues.values()) {
          if (sink !== null) counts.set(sink, Math.min(limit, (counts.get(sink) ?? 0) + events.length))
        }
        return counts
      },
      async revive(letters) {
        const revived = letters.flatMap(({ eventId, sink }) => state.dead.get(keyOf(eventId, sink)) ?? [])
        for (const { userId, sink, event } of revived) {
          commit(['dead', keyOf(event.id, sink), null], ...queued(userId, [event], sink))
        }
        return revived.length
      },
      async discard(deliveries) {
        let found = 0
        for (const { eventId, sink } of deliveries) {
          const change = withoutDelivery(eventId, sink)
          if (change === null) continue
          commit(change)
          found++
        }
        return found
      },
      async sweepDead(diedBefore, limit) {
        const old = [...state.dead].filter(([, { diedAt }]) => diedAt < diedBefore).slice(0, limit)
        commit(...old.map(([key]) => /** @type {Change} */ (['dead', key, null])))
        return old.length
      },
    },

    tokenRequests: {
      async ask(request) {
        if (state.requests.size >= maxWaitingRequests) return 'full'
        // The same write whether or not it waits already: the time of the answer would tell.
        const first = { request, boundFact: null, userId: null, ...untried }
        commit(['requests', request.id, state.requests.get(request.id) ?? first])
        return 'asked'
      },
      async lease(now, limit, leaseSeconds) {
        const heldUntil = secondsAfter(now, leaseSeconds)
        const due = [...state.requests.values()].filter((waiting) => waiting.heldUntil <= now)
        const oldest = due.sort((a, b) => a.request.at.getTime() - b.request.at.getTime()).slice(0, limit)
        const leased = oldest.map((waiting) => ({ ...waiting, heldUntil }))
        commit(...leased.map((waiting) => /** @type {Change} */ (['requests', waiting.request.id, waiting])))
        return leased.map(({ request, boundFact, attempts }) => ({ request, boundFact, attempts }))
      },
      async bind(request, boundFact, userId) {
        const waiting = waitingFor(request)
        if (waiting === undefined) return false
        commit(['requests', request.id, { ...waiting, boundFact, userId, attempts: waiting.attempts + 1 }])
        return true
      },
      async postpone(requests, heldUntil, reason) {
        const found = requests.flatMap((request) => waitingFor(request) ?? [])
        const postponed = found.map((one) => ({ ...one, heldUntil, reason: reason ?? one.reason }))
        commit(...postponed.map((one) => /** @type {Change} */ (['requests', one.request.id, one])))
      },
      async settle(requests) {
        const ours = requests.filter((request) => waitingFor(request) !== undefined)
        commit(...ours.map(({ id }) => /** @type {Change} */ (['requests', id, null])))
      },
      async sweep(askedBefore, limit) {
        const old = [...state.requests.values()].filter(({ request }) => request.at < askedBefore).slice(0, limit)
        commit(...old.map(({ request }) => /** @type {Change} */ (['requests', request.id, null])))
        return old.length
      },
      async bury(request, diedAt, reason) {
        const waiting = waitingFor(request)
        if (waiting === undefined) return
        commit(['requests', request.id, null], ['deadRequests', request.eventId, { ...waiting, reason, diedAt }])
      },
      async list(deliveryState, limit, after) {
        const requests = [...(deliveryState === 'dead' ? state.deadRequests : state.requests).values()]
        const { items, next } = pageOf(requests, (one) => one.request.eventId, limit, after)
        return { items: items.map(({ boundFact, heldUntil, ...shown }) => shown), next }
      },
      async count(deliveryState, limit) {
        return Math.min(limit, (deliveryState === 'dead' ? state.deadRequests : state.requests).size)
      },
      async revive({ id, eventId }) {
        const letter = state.deadRequests.get(eventId)
        if (letter === undefined) return false
        const isReplaced = state.requests.has(id)
        const back = isReplaced ? [] : [/** @type {Change} */ (['requests', id, { ...letter, ...untried }])]
        commit(['deadRequests', eventId, null], ...back)
        return !isReplaced
      },
      async discard(request) {
        const isDead = state.deadRequests.has(request.eventId)
        const isWaiting = waitingFor(request) !== undefined
        if (isDead) commit(['deadRequests', request.eventId, null])
        if (isWaiting) commit(['requests', request.id, null])
        return isDead || isWaiting
      },
      async sweepDead(diedBefore, limit) {
        const old = [...state.deadRequests.values()].filter(({ diedAt }) => diedAt < diedBefore).slice(0, limit)
        commit(...old.map(({ request }) => /** @type {Change} */ (['deadRequests', request.eventId, null])))
        return old.length
      },
    },

    expiringMarks: {
      async add(id, until) {
        const known = state.ends.get(id) ?? never
        if (known < until) commit(['ends', id, until])
      },
      async claim(id, until) {
        if (state.ends.has(id)) return false
        commit(['ends', id, until])
        return true
      },
      async has(id) {
        return (state.ends.get(id) ?? never) > clock()
      },
      async list(limit, after) {
        const live = [...state.ends].filter(([id, until]) => until > clock() && id > (after ?? ''))
        const items = live.sort(([one], [other]) => (one < other ? -1 : 1)).slice(0, limit)
        const next = items.length === limit ? (items.at(-1)?.[0] ?? null) : null
        return { items: items.map(([id, until]) => ({ id, until })), next }
      },
      async sweep(limit) {
        const over = [...state.ends].filter(([, until]) => until <= clock()).slice(0, limit)
        commit(...over.map(([id]) => /** @type {Change} */ (['ends', id, null])))
        return over.length
      },
    },

    loginTimes: {
      async recordLogin(userId, at) {
        const isNewer = at > (state.logins.get(userId) ?? never)
        if (state.users.has(userId) && isNewer) commit(['logins', userId, at])
      },
      async lastLogin(userId) {
        return state.logins.get(userId) ?? null
      },
    },

    tenantTexts: {
      async read(name) {
        return state.marks.get(name) ?? null
      },
      async exchange(name, expected, next) {
        if ((state.marks.get(name) ?? null) !== expected) return false
        commit(['marks', name, next])
        return true
      },
    },

    close() {
      journal.close()
      rmSync(`${path}.lock`)
    },
  }
}

/** @param {string} id @param {SinkName | null} sink */
const keyOf = (id, sink) => `${id} ${sink ?? ''}`

/**
 * A page in the order of the ids. The cursor is the last id.
 *
 * @template T @param {readonly T[]} all @param {(one: T) => string} idOf @param {number} limit @param {string | null} after
 * @returns {Page<T>}
 */
function pageOf(all, idOf, limit, after) {
  const rest = all.filter((one) => after === null || idOf(one) > after).sort((a, b) => (idOf(a) < idOf(b) ? -1 : 1))
  const last = rest[limit - 1]
  return { items: rest.slice(0, limit), next: last === undefined ? null : idOf(last) }
}

/** @param {Date} date @param {number} seconds */
const secondsAfter = (date, seconds) => new Date(date.getTime() + seconds * 1000)

/**
 * The file itself. Reads its lines with `apply`, and appends to it.
 *
 * @param {string} path @param {State} state @param {(change: Change) => void} apply
 */
function openJournal(path, state, apply) {
  const text = contentsOf(path)
  // The process died while it wrote an incomplete last line, so no caller got an answer for that change.
  const lines = text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .slice(0, -1)
  for (const line of lines) JSON.parse(line, revived).forEach(apply)

  const isLong = lines.length > linesBeforeRewriting
  if (isLong || !text.endsWith('\n')) rewrite(path, state)
  const file = openSync(path, 'a', 0o600)
  let isBroken = false
  return {
    /** @param {readonly Change[]} changes */
    append(changes) {
      if (isBroken) throw new Unavailable('the journal')
      try {
        writeSync(file, `${JSON.stringify(changes, replaced)}\n`)
        fsyncSync(file)
      } catch (cause) {
        isBroken = true // the file may end with half a line; the next opening repairs it
        throw new Unavailable('the journal', { cause })
      }
    },
    close: () => closeSync(file),
  }
}

/** @param {string} path */
function contentsOf(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return ''
    throw error
  }
}

/** Replaces all lines with the current records. @param {string} path @param {State} state */
function rewrite(path, state) {
  const changes = Object.entries(state).flatMap(([kind, records]) => [...records].map(([key, one]) => [kind, key, one]))
  const file = openSync(`${path}.new`, 'w', 0o600)
  writeFileSync(file, `${JSON.stringify(changes, replaced)}\n`)
  fsyncSync(file)
  closeSync(file)
  renameSync(`${path}.new`, path)
  const folder = openSync(dirname(path), 'r')
  fsyncSync(folder)
  closeSync(folder)
}

/** JSON has no dates. @this {any} @param {string} key @param {unknown} value */
function replaced(key, value) {
  return this[key] instanceof Date ? { $date: this[key].getTime() } : value
}

/** @param {string} _ @param {any} value */
function revived(_, value) {
  return typeof value?.$date === 'number' ? new Date(value.$date) : value
}

/** Locks the file for this process. Takes over the lock of a dead process. @param {string} path */
function lock(path) {
  const file = `${path}.lock`
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx' })
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') throw error
    const owner = Number(readFileSync(file, 'utf8'))
    if (isAlive(owner)) throw new Unsuitable(`${path} is open in the process ${owner}`)
    rmSync(file, { force: true })
    lock(path)
  }
}

/** @param {number} pid */
function isAlive(pid) {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
