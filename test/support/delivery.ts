import { randomUUID } from 'node:crypto'
import { derivedKeys } from '../../src/adapters/crypto/derived-keys.ts'
import { memoryBackend } from '../../src/adapters/stores/memory/memory.ts'
import type { DeliveryProblem } from '../../src/application/deliveries/delivery-problem.ts'
import type { EventHandlers, HandlerCall } from '../../src/application/ports/event-handlers.ts'
import { type AccountEvent, type HandlerName, happened } from '../../src/domain/events.ts'
import type { EventId } from '../../src/domain/ids.ts'
import type { User } from '../../src/domain/user.ts'

/** Empty memory stores, and what a delivery needs beside them. */
export async function deliveryNeeds(clock: () => Date) {
  const {
    users: role,
    sessions,
    tokens,
    oauthStates,
  } = await memoryBackend.open({
    url: null,
    dataFolder: '',
    clock,
    warn() {},
  })
  if (!role || !sessions || !tokens || !oauthStates) throw new Error('a role is missing')
  const { users, outbox, tokenRequests, expiringIds } = role
  const problems: DeliveryProblem[] = []
  const report = (problem: DeliveryProblem) => void problems.push(problem)
  const keyRing = derivedKeys('a master secret of a test, long enough')
  const random = () => 0
  return {
    users,
    outbox,
    tokenRequests,
    expiringIds,
    sessions,
    tokens,
    oauthStates,
    clock,
    keyRing,
    random,
    tenant: 'default',
    problems,
    report,
  }
}

export type Recorded = EventHandlers & { readonly calls: HandlerCall[] }

/** Listens to every name but `deaf`, and records the calls before it does `act`. */
export function recording(act: (call: HandlerCall) => Promise<void> | void = () => {}, deaf?: HandlerName): Recorded {
  const calls: HandlerCall[] = []
  return {
    calls,
    handles: (name) => name !== deaf,
    async call(call) {
      calls.push(call)
      await act(call)
    },
  }
}

export function occasionAt(at: Date) {
  return { eventId: randomUUID() as EventId, at, requestId: `request-${randomUUID()}` }
}

export function registered(user: User, at: Date): AccountEvent {
  return happened('registered', user, occasionAt(at))
}

export function passwordChanged(user: User, at: Date): AccountEvent {
  return { ...happened('updated', user, occasionAt(at)), changes: { password: true }, sessionsEnded: true }
}
