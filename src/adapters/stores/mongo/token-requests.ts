import { randomUUID } from 'node:crypto'
import {
  type LeasedRequest,
  maxWaitingRequests,
  type TokenRequests,
} from '../../../application/ports/stores/token-requests.ts'
import type { TokenRequest } from '../../../domain/one-time-token.ts'
import { type Connection, latest } from './connection.ts'
import { literal, type RequestDocument } from './documents.ts'

/** Due for every process, whatever its clock says. */
const atOnce = new Date(0)

/** The bound is checked before the write, not with it: concurrent callers may exceed it by as many as they are. */
export function mongoTokenRequests({ tokenRequests, run, upsert, sweep }: Connection): TokenRequests {
  /** This one and no later one of the same id: every request has an event id of its own. */
  const same = ({ id, eventId }: TokenRequest) => ({ _id: literal(id), eventId: literal(eventId) })

  const theSame = (requests: readonly TokenRequest[]) => ({
    _id: { $in: requests.map(({ id }) => literal(id)) },
    eventId: { $in: requests.map(({ eventId }) => literal(eventId)) },
  })

  /** The estimate costs nothing, but may be wrong after the server was killed. So a refusal needs an exact count. */
  async function isFull(): Promise<boolean> {
    if ((await tokenRequests.estimatedDocumentCount()) < maxWaitingRequests) return false
    return (await tokenRequests.countDocuments({}, { limit: maxWaitingRequests, ...latest })) >= maxWaitingRequests
  }

  return {
    ask: (request) =>
      run(async () => {
        if (await isFull()) return 'full'
        const { id, ...fields } = request
        const $setOnInsert = { ...fields, boundFact: null, attempts: 0, dueAt: atOnce, leaseId: null }
        // A repetition is counted, since it would be answered sooner than a first request if it left nothing to journal.
        const update = { $setOnInsert, $inc: { asks: 1 } }
        await upsert(() => tokenRequests.updateOne({ _id: literal(id) }, update, { upsert: true }))
        return 'asked'
      }),

    /** Marks due requests in one write, then reads back the ones it got, as the outbox does. */
    lease: (now, limit, leaseSeconds) =>
      run(async () => {
        const due = { dueAt: { $lte: now } }
        const leaseId = randomUUID()
        const leaseUntil = new Date(now.getTime() + leaseSeconds * 1000)
        const leases: LeasedRequest[] = []
        for (let wanted = limit; wanted > 0; wanted = limit - leases.length) {
          const candidates = await tokenRequests
            .find(due, { projection: { _id: 1 }, ...latest })
            .sort({ at: 1 })
            .limit(wanted)
            .toArray()
          if (candidates.length === 0) break
          const ids = candidates.map(({ _id }) => _id)
          await tokenRequests.updateMany({ _id: { $in: ids }, ...due }, { $set: { leaseId, dueAt: leaseUntil } })
          const won = await tokenRequests
            .find({ _id: { $in: ids }, leaseId })
            .sort({ at: 1 })
            .toArray()
          leases.push(...won.map(leasedRequestOf))
          if (candidates.length < wanted) break
        }
        return leases
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
