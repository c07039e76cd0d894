import { maxWaitingRequests, type TokenRequests } from '../../../application/ports/stores/token-requests.ts'
import type { EventId, UserId } from '../../../domain/ids.ts'
import type { TokenRequest } from '../../../domain/one-time-token.ts'
import { pageOf } from './page.ts'
import { sweep } from './sweep.ts'

/** A waiting request or a dead letter. */
interface Entry {
  readonly request: TokenRequest
  boundFact: string | null
  userId: UserId | null
  attempts: number
  reason: string | null
  readonly diedAt: Date | null
  /** The end of the lease or the postponement, in milliseconds since the epoch. */
  heldUntil: number
}

const untried = { attempts: 0, reason: null, diedAt: null, heldUntil: 0 }

export function memoryTokenRequests(): TokenRequests {
  const waiting = new Map<string, Entry>()
  const dead = new Map<EventId, Entry & { readonly diedAt: Date }>()

  /** The entry of this very request; `undefined` when it is gone. */
  function entryOf({ id, eventId }: TokenRequest): Entry | undefined {
    const entry = waiting.get(id)
    return entry?.request.eventId === eventId ? entry : undefined
  }

  return {
    async ask(request) {
      if (waiting.size >= maxWaitingRequests) return 'full'
      if (!waiting.has(request.id)) waiting.set(request.id, { request, boundFact: null, userId: null, ...untried })
      return 'asked'
    },

    async lease(now, limit, leaseSeconds) {
      const due = [...waiting.values()].filter(({ heldUntil }) => heldUntil <= now.getTime())
      // The entries are nearly sorted, so sorting takes linear time.
      due.sort((a, b) => a.request.at.getTime() - b.request.at.getTime())
      return due.slice(0, limit).map((entry) => {
        entry.heldUntil = now.getTime() + leaseSeconds * 1000
        return { request: entry.request, boundFact: entry.boundFact, attempts: entry.attempts }
      })
    },

    async bind(request, fact, userId) {
      const entry = entryOf(request)
      if (entry === undefined) return false
      entry.boundFact = fact
      entry.userId = userId
      entry.attempts++
      return true
    },

    async postpone(requests, until, reason) {
      for (const request of requests) {
        const entry = entryOf(request)
        if (entry === undefined) continue
        entry.heldUntil = until.getTime()
        entry.reason = reason ?? entry.reason
      }
    },

    async settle(requests) {
      for (const request of requests) {
        if (entryOf(request) !== undefined) waiting.delete(request.id)
      }
    },

    sweep: async (askedBefore, limit) => sweep(waiting, ({ request }) => request.at < askedBefore, limit),

    async bury(request, diedAt, reason) {
      const entry = entryOf(request)
      if (entry === undefined) return
      waiting.delete(request.id)
      dead.set(request.eventId, { ...entry, reason, diedAt })
    },

    async list(state, limit, after) {
      const entries = [...(state === 'dead' ? dead : waiting).values()]
      const { items, next } = pageOf(entries, ({ request }) => request.eventId, limit, after)
      return { items: items.map(({ boundFact, heldUntil, ...shown }) => shown), next }
    },

    count: async (state, limit) => Math.min(limit, (state === 'dead' ? dead : waiting).size),

    async revive({ id, eventId }) {
      const letter = dead.get(eventId)
      if (letter === undefined) return false
      dead.delete(eventId)
      if (waiting.has(id)) return false
      waiting.set(id, { ...letter, ...untried })
      return true
    },

    async discard(request) {
      const isWaiting = entryOf(request) !== undefined
      if (isWaiting) waiting.delete(request.id)
      return dead.delete(request.eventId) || isWaiting
    },

    sweepDead: async (diedBefore, limit) => sweep(dead, ({ diedAt }) => diedAt < diedBefore, limit),
  }
}
