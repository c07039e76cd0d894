import { Type } from 'typebox'
import type { Undelivered } from '../../../application/deliveries/undelivered.ts'
import { jsonId } from '../../../domain/ids.ts'

export const nullable = (type: 'string' | 'integer', description: string) =>
  Type.Unsafe<string | null>({ type: [type, 'null'], description })

/** Mail or an event that was not delivered. */
export const DeliverySchema = Type.Object(
  {
    id: Type.String({ format: 'uuid', description: 'Of the event or the request for a token' }),
    type: Type.String({ description: 'The type of the event, or the kind of the token' }),
    sink: nullable('string', 'The receiver, such as `mail`; null for a token, and before the event is distributed'),
    is_sink_off: Type.Boolean({ description: 'The settings switch the receiver off, so nothing delivers this' }),
    state: Type.Enum(['dead', 'waiting']),
    user_id: nullable('string', 'Null for a request that was not tried'),
    email: nullable('string', 'The address of the user. Null for a request that was not tried, or if the user is gone'),
    at: Type.String({ format: 'date-time' }),
    attempts: Type.Integer(),
    reason: nullable('string', 'Of the last failure. It has the message of what a handler threw'),
    died_at: nullable('string', 'Null while it waits'),
  },
  { additionalProperties: false },
)

export function deliveryBody(one: Undelivered) {
  const { id, type, sink, isSinkOff, state, userId, email, at, attempts, reason, diedAt } = one
  return {
    id,
    type,
    sink,
    is_sink_off: isSinkOff,
    state,
    user_id: userId && jsonId(userId),
    email,
    at: at.toISOString(),
    attempts,
    reason,
    died_at: diedAt?.toISOString() ?? null,
  }
}
