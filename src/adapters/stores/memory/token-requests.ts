import { maxWaitingRequests, type TokenRequests } from '../../../application/ports/stores/token-requests.ts'
import type { TokenRequest } from '../../../domain/one-time-token.ts'
import { sweep } from './sweep.ts'

interface Waiting {
  readonly request: TokenRequest
  boundFact: string | null
  attempts: number
  /** The end of the lease or the postponement, in milliseconds since the epoch. */
  heldUntil: number
}

export function memoryTokenRequests(): TokenRequests {
  const waiting = new Map<string, Waiting>()

  /** The entry of this very request; `undefined` when it is gone. */
  function entryOf({ id, eventId }: TokenRequest): Waiting | undefined {
    const entry = waiting.get(id)
    return entry?.request.eventId === eventId ? entry : undefined
  }

  return {
    async ask(request) {
      if (waiting.size >= maxWaitingRequests) return 'full'
      if (!waiting.has(request.id)) waiting.set(request.id, { request, boundFact: null, attempts: 0, heldUntil: 0 })
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

    async bind(request, fact) {
      const entry = entryOf(request)
      if (entry === undefined) return false
      entry.boundFact = fact
      entry.attempts++
      return true
    },

    async postpone(requests, until) {
      for (const request of requests) {
        const entry = entryOf(request)
        if (entry !== undefined) entry.heldUntil = until.getTime()
      }
    },

    async settle(requests) {
      for (const request of requests) {
        if (entryOf(request) !== undefined) waiting.delete(request.id)
      }
    },

    sweep: async (askedBefore, limit) => sweep(waiting, ({ request }) => request.at < askedBefore, limit),
  }
}
