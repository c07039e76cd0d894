declare const checked: unique symbol

/** A user's id: a UUID, lower-case with dashes (RFC 9562). New ones are version 7, so they sort by age. */
export type UserId = string & { readonly [checked]: 'UserId' }

/** An event's id: a UUID, the same at every delivery of that event. */
export type EventId = string & { readonly [checked]: 'EventId' }

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** The id in `text`, in upper or lower case; `null` if it is none. */
export function parseUserId(text: string): UserId | null {
  const lower = text.toLowerCase()
  return uuid.test(lower) ? (lower as UserId) : null
}

/** Whether `value` is a user's id in the form that `parseUserId` returns. */
export function isUserId(value: unknown): value is UserId {
  return typeof value === 'string' && uuid.test(value)
}

/** The id in `text`, in upper or lower case; `null` if it is none. */
export function parseEventId(text: string): EventId | null {
  const lower = text.toLowerCase()
  return uuid.test(lower) ? (lower as EventId) : null
}
