import { randomUUID } from 'node:crypto'
import { derivedKeys } from '../../../src/adapters/crypto/derived-keys.ts'
import { memoryBackend } from '../../../src/adapters/stores/memory/memory.ts'
import { ChangeUser } from '../../../src/application/change-user.ts'
import type { DeliveryProblem } from '../../../src/application/deliveries/delivery-problem.ts'
import { HandlerSink, type HandlerSinkNeeds } from '../../../src/application/deliveries/handler-sink.ts'
import { type SessionsNeeds, SessionsSink } from '../../../src/application/deliveries/sessions-sink.ts'
import type { Sink } from '../../../src/application/deliveries/sink.ts'
import { unlimited } from '../../../src/application/limits/limits.ts'
import type { EventHandlers, HandlerCallType } from '../../../src/application/ports/event-handlers.ts'
import type { UserStore } from '../../../src/application/ports/stores/user-store.ts'
import { nobody } from '../../../src/domain/actor.ts'
import { type AccountEvent, accountEvent, updatedEvent } from '../../../src/domain/events.ts'
import type { EventId } from '../../../src/domain/ids.ts'
import type { User } from '../../../src/domain/user.ts'
import { timers } from '../../../src/lib/timers.ts'
import type { RecordedCall } from '../../../src/testing/recorded-handlers.ts'

/** Empty memory stores, and the other needs of a delivery. */
export async function deliveryNeeds(clock: () => Date) {
  const { limiter: _, ...ports } = await memoryBackend.open({ clock, warn() {} })
  const problems: DeliveryProblem[] = []
  return {
    ...ports,
    clock,
    keyRing: derivedKeys('a master secret of a test, long enough'),
    limits: unlimited,
    newAddressTokens: null,
    lifetimes: { reset_password: 900, verify_email: 86_400 },
    random: () => 0,
    warnOfDropped() {},
    warnOfUnrecorded() {},
    timers,
    tenant: 'default',
    problems,
    report: (problem: DeliveryProblem) => void problems.push(problem),
  }
}

/** A sink that removes ended sessions, and one that calls the handlers. */
export function sinksTo(
  handlers: EventHandlers,
  needs: SessionsNeeds & Omit<HandlerSinkNeeds, 'handlerTimeoutSeconds'>,
): readonly Sink[] {
  return [
    new SessionsSink(needs),
    new HandlerSink({ name: 'handlers', handlers }, { ...needs, handlerTimeoutSeconds: 10 }),
  ]
}

export const changeUserOf = (users: UserStore): ChangeUser => new ChangeUser({ users, timers, random: Math.random })

export type Recorded = EventHandlers & { readonly calls: RecordedCall[] }

/** Handles every type of call but `unhandled`, and records the calls before it does `act`. */
export function recording(
  act: (call: RecordedCall) => Promise<void> | void = () => {},
  unhandled?: HandlerCallType,
): Recorded {
  const calls: RecordedCall[] = []
  return {
    calls,
    handles: (type) => type !== unhandled,
    async call(call) {
      calls.push(call)
      await act(call)
    },
  }
}

/** Handlers that hang until `finish` lets the oldest calls, or all of them, return. */
export function hanging() {
  const waiting: (() => void)[] = []
  const handlers = recording(() => new Promise<void>((resolve) => waiting.push(resolve)))
  const finish = (howMany = waiting.length): void => {
    for (const resolve of waiting.splice(0, howMany)) resolve()
  }
  return { handlers, finish, running: () => waiting.length }
}

export function metadataAt(at: Date) {
  return {
    eventId: randomUUID() as EventId,
    at,
    requestId: `request-${randomUUID()}`,
    languages: ['de', 'en'],
    by: nobody,
  }
}

export function registered(user: User, at: Date): AccountEvent {
  return accountEvent('registered', user, metadataAt(at))
}

export function passwordChanged(user: User, at: Date): AccountEvent {
  return updatedEvent(user, { password: true }, metadataAt(at), { sessionsEnded: true })
}
