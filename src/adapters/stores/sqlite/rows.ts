import type { AccountEvent } from '../../../domain/events.ts'
import { type EventId, kindOf, type UserId } from '../../../domain/ids.ts'
import type { RequestPurpose, TokenPurpose, TokenRequest } from '../../../domain/one-time-token.ts'
import type { Facts } from '../../../domain/user-record.ts'

// Rows that the thread writes and the event loop reads. The schema names the same columns.

export interface UserRow {
  readonly id: UserId
  readonly version: number
  /** `documentOf` as JSON. */
  readonly document: string
}

/** The column of a fact. */
export const columnOf = (fact: keyof Facts): string => fact.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/**
 * The rowid of a new user, unless another user has it. SQLite searches one tree for a rowid and two for an id, and with
 * a million users the second tree makes a read 1.5 times as long. An integer is its own rowid. Otherwise the rowid begins with
 * the time of the id (RFC 9562 section 5.7 for UUIDs), so that new rows are neighbours.
 */
export function rowIdOf(id: UserId): bigint {
  const kind = kindOf(id)
  if (kind === 'integer') return BigInt(id)
  // Seconds, the counter of the process, and a random byte.
  if (kind === 'objectid') return BigInt.asIntN(64, BigInt(`0x${id.slice(0, 8)}${id.slice(18)}${id.slice(8, 10)}`))
  const time = `${id.slice(1, 8)}${id.slice(9, 13)}` // 44 bits of milliseconds, which repeat after 557 years
  const chance = `${id.slice(21, 23)}${id.slice(24, 27)}` // 20 random bits, behind those of the version and the variant
  return BigInt.asIntN(64, BigInt(`0x${time}${chance}`)) // a rowid has a sign
}

export interface SessionRow {
  readonly digest: string
  readonly user_id: UserId
  readonly generation: number
  readonly sid: string
  readonly proved_at: number
  /** A list as JSON. */
  readonly methods: string
  readonly created_at: number
  readonly seen_at: number
  readonly idle_seconds: number | null
  readonly ends_at: number
  /** `expiryOf` the session, so that one comparison tells whether it has ended. */
  readonly expires_at: number
  readonly network: string | null
  readonly browser: string | null
  readonly system: string | null
}

export interface TokenRow {
  readonly purpose: TokenPurpose
  readonly user_id: UserId
  readonly digest: string
  readonly event_id: EventId
  readonly fact: string
  readonly created_at: number
  readonly expires_at: number
}

export interface RequestRow {
  readonly id: string
  readonly event_id: EventId
  readonly purpose: RequestPurpose
  readonly sealed_email: string
  readonly request_id: string
  /** The languages, separated by commas. */
  readonly languages: string
  readonly asked_at: number
  readonly bound_fact: string | null
  readonly user_id: UserId | null
  readonly attempts: number
  readonly reason: string | null
}

export interface DeadRequestRow {
  readonly event_id: EventId
  readonly request: string
  readonly attempts: number
  readonly reason: string
  readonly dead_at: number
}

/** A request and its binding. */
interface BoundRequest {
  readonly request: TokenRequest
  readonly boundFact: string | null
  readonly userId: UserId | null
}

export function boundRequestOf(row: RequestRow): BoundRequest {
  const request: TokenRequest = {
    id: row.id,
    eventId: row.event_id,
    purpose: row.purpose,
    sealedEmail: row.sealed_email,
    requestId: row.request_id,
    languages: row.languages === '' ? [] : row.languages.split(','),
    at: new Date(row.asked_at),
  }
  return { request, boundFact: row.bound_fact, userId: row.user_id }
}

/** Reads `request` of a dead letter. */
export function deadRequestOf(json: string): BoundRequest {
  const { request, ...binding } = JSON.parse(json)
  return { ...binding, request: { ...request, at: new Date(request.at) } }
}

/** The column `sink` of an event that waits for its distribution, and of a dead letter of an older release. */
export const undistributed = ''

export function eventOf(payload: string): AccountEvent {
  const { at, ...rest } = JSON.parse(payload)
  return { ...rest, at: new Date(at) }
}

/** The name of the row in `meta` that has the mark of this name. */
export const rowOf = (name: string): string => (name === 'secret' ? 'secret-mark' : name)
