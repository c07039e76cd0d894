declare const checked: unique symbol

/** A user's id: a UUID, lower-case with dashes (RFC 9562). New ones are version 7, so that they sort by age. */
export type UserId = string & { readonly [checked]: 'UserId' }

/** An event's id: a UUID, the same at every delivery of that event. */
export type EventId = string & { readonly [checked]: 'EventId' }

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** The id that `text` spells, upper or lower case; `null` when it spells none. */
export function parseUserId(text: string): UserId | null {
  if (typeof text !== 'string') return null // a caller whom no compiler holds to the type
  const lower = text.toLowerCase()
  return uuid.test(lower) ? (lower as UserId) : null
}

/** Whether `value` is a user's id as `parseUserId` spells it. */
export function isUserId(value: unknown): value is UserId {
  return typeof value === 'string' && uuid.test(value)
}

/** The id that `text` spells, upper or lower case; `null` when it spells none. */
export function parseEventId(text: string): EventId | null {
  const lower = text.toLowerCase()
  return uuid.test(lower) ? (lower as EventId) : null
}
