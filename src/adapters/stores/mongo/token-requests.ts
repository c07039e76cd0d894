import { randomUUID } from 'node:crypto'
import {
  type LeasedRequest,
  maxWaitingRequests,
  type TokenRequests,
} from '../../../application/ports/stores/token-requests.ts'
import type { TokenRequest } from '../../../domain/one-time-token.ts'
import { type Connection, fullness } from './connection.ts'
import { literal, type RequestDocument } from './documents.ts'

/** Due for every process, whatever its clock says. */
const atOnce = new Date(0)

export function mongoTokenRequests({ tokenRequests, run, lease, upsert, sweep }: Connection): TokenRequests {
  /** Matches this request, but no later one of the same id, because each request has its own event id. */
  const same = ({ id, eventId }: TokenRequest) => ({ _id: literal(id), eventId: literal(eventId) })

  const theSame = (requests: readonly TokenRequest[]) => ({
    _id: { $in: requests.map(({ id }) => literal(id)) },
    eventId: { $in: requests.map(({ eventId }) => literal(eventId)) },
  })

  const isFull = fullness(tokenRequests, () => ({}))

  return {
    ask: (request) =>
      run(async () => {
        if (await isFull(maxWaitingRequests)) return 'full'
        const { id, ...fields } = request
        const $setOnInsert = { ...fields, boundFact: null, attempts: 0, dueAt: atOnce, leaseId: null }
        // A repetition is counted, since it would be answered sooner than a first request if it left nothing to journal.
        const update = { $setOnInsert, $inc: { asks: 1 } }
        await upsert(() => tokenRequests.updateOne({ _id: literal(id) }, update, { upsert: true }))
        return 'asked'
      }),

    lease: (now, limit, leaseSeconds) =>
      run(async () => {
        const leaseId = randomUUID()
        const leaseUntil = new Date(now.getTime() + leaseSeconds * 1000)
        const leased = await lease<RequestDocument>('token_requests', {
          due: { dueAt: { $lte: now } },
          order: { at: 1 },
          mark: { $set: { leaseId, dueAt: leaseUntil } },
          marked: { leaseId },
          limit,
        })
        return leased.map(leasedRequestOf)
      }),

    bind: (request, fact) =>
      run(async () => {
        const delivery = { $set: { boundFact: fact }, $inc: { attempts: 1 } }
        const { matchedCount } = await tokenRequests.updateOne(same(request), delivery)
        return matchedCount === 1
      }),

    postpone: (requests, until) =>
      run(async () => {
        if (requests.length === 0) return
        await tokenRequests.updateMany(theSame(requests), { $set: { dueAt: until, leaseId: null } })
      }),

    settle: (requests) =>
      run(async () => {
        if (requests.length === 0) return
        await tokenRequests.deleteMany(theSame(requests))
      }),

    sweep: (askedBefore, limit) => sweep('token_requests', { at: { $lt: askedBefore } }, limit),
  }
}

function leasedRequestOf(document: RequestDocument): LeasedRequest {
  const { _id: id, boundFact, attempts, asks, dueAt, leaseId, ...fields } = document
  return { request: { id, ...fields }, boundFact, attempts }
}
