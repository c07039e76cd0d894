declare const user: unique symbol
declare const event: unique symbol

/** The kinds of users' ids. Each has a shape of its own, so an id tells its kind. */
export const idKinds = ['uuid', 'integer', 'objectid'] as const
export type IdKind = (typeof idKinds)[number]

/**
 * A user's id, which is a text for every kind:
 * - `uuid`: lower-case with dashes (RFC 9562). New ones are version 7, so they sort by age.
 * - `integer`: a whole number from 1 to 2^53 - 1, without leading zeros.
 * - `objectid`: 24 lower-case hexadecimal digits, which begin with the time.
 */
export type UserId = string & { readonly [user]: true }

/** An event's id: a UUID, the same at every delivery of that event. */
export type EventId = string & { readonly [event]: true }

/** An id that nothing has yet: it may become that of a user or of an event. */
export type NewId = UserId & EventId

/** The record of a tenant for events of acts that concern no user: the nil UUID (RFC 9562 section 5.9), which no user has. */
export const tenantRecordId = '00000000-0000-0000-0000-000000000000' as UserId // safe: a UUID

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const shapes: Readonly<Record<IdKind, RegExp>> = { uuid, integer: /^[1-9]\d{0,15}$/, objectid: /^[0-9a-f]{24}$/ }
/** Longer texts are no ids. */
const maxLength = 100

/**
 * The id in `text`, in upper or lower case; `null` if it is none. A UUID may also lack its dashes, stand in braces, or follow
 * `urn:uuid:` (RFC 9562 section 4), as Python reads UUIDs.
 */
export function parseUserId(text: string): UserId | null {
  const lower = text.toLowerCase()
  if (isUserId(lower)) return lower
  if (text.length > maxLength) return null
  const bare = text
    .replace('urn:', '')
    .replace('uuid:', '')
    .replace(/^[{}]+|[{}]+$/g, '')
  const digits = /^[0-9a-f]{32}$/.exec(bare.replaceAll('-', '').toLowerCase())?.[0]
  return digits === undefined ? null : (digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-') as UserId)
}

/** The id in `text`, in upper or lower case; `null` if it is none. */
export function parseEventId(text: string): EventId | null {
  const lower = text.toLowerCase()
  return uuid.test(lower) ? (lower as EventId) : null
}

/** Whether `value` is a user's id in the form that `parseUserId` returns. */
export function isUserId(value: unknown): value is UserId {
  return typeof value === 'string' && idKinds.some((kind) => isOfKind(value, kind))
}

function isOfKind(text: string, kind: IdKind): boolean {
  return shapes[kind].test(text) && (kind !== 'integer' || Number.isSafeInteger(Number(text)))
}

export function kindOf(id: UserId): IdKind {
  if (shapes.uuid.test(id)) return 'uuid'
  return shapes.objectid.test(id) ? 'objectid' : 'integer'
}

/** The id of a user with a counted number. */
export function numberedId(number: number): UserId {
  return String(number) as UserId // safe: the store counts from 1
}

/** The id as JSON holds it: an integer is a number there. */
export function jsonId(id: UserId): string | number {
  return kindOf(id) === 'integer' ? Number(id) : id
}
