declare const user: unique symbol
declare const event: unique symbol

/** A user's id: a UUID, lower-case with dashes (RFC 9562). New ones are version 7, so they sort by age. */
export type UserId = string & { readonly [user]: true }

/** An event's id: a UUID, the same at every delivery of that event. */
export type EventId = string & { readonly [event]: true }

/** An id that nothing has yet: it may become that of a user or of an event. */
export type NewId = UserId & EventId

/** The record of a tenant for events of acts that concern no user: the nil UUID (RFC 9562 section 5.9), which no user has. */
export const tenantRecordId = '00000000-0000-0000-0000-000000000000' as UserId // safe: a UUID

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** The id in `text`, in upper or lower case; `null` if it is none. */
export const parseUserId = (text: string): UserId | null => idIn(text)
export const parseEventId = (text: string): EventId | null => idIn(text)

function idIn<Id extends string>(text: string): Id | null {
  const lower = text.toLowerCase()
  return uuid.test(lower) ? (lower as Id) : null
}

/** Whether `value` is a user's id in the form that `parseUserId` returns. */
export function isUserId(value: unknown): value is UserId {
  return typeof value === 'string' && uuid.test(value)
}
