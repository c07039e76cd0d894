import { randomUUID } from 'node:crypto'
import {
  maxWaitingRequests,
  type TokenRequests,
  type UndeliveredRequest,
} from '../../../application/ports/stores/token-requests.ts'
import type { TokenRequest } from '../../../domain/one-time-token.ts'
import { type Connection, fullness } from './connection/connection.ts'
import { type DeadRequestDocument, literal, type RequestDocument } from './documents.ts'

/** Due for every process, whatever its clock says. */
const atOnce = new Date(0)
const untried = { attempts: 0, dueAt: atOnce, leaseId: null }

export function mongoTokenRequests(connection: Connection): TokenRequests {
  const { tokenRequests, deadTokenRequests, run, lease, upsert, sweep, page } = connection
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
        const $setOnInsert = { ...fields, ...untried, boundFact: null }
        // A repetition is counted, too: without a write it would not wait for the journal, and its faster answer would reveal it.
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
          mark: { leaseId, dueAt: leaseUntil },
          limit,
        })
        return leased.map((one) => ({ request: requestOf(one), boundFact: one.boundFact, attempts: one.attempts }))
      }),

    bind: (request, fact, userId) =>
      run(async () => {
        const delivery = { $set: { boundFact: fact, userId }, $inc: { attempts: 1 } }
        const { matchedCount } = await tokenRequests.updateOne(same(request), delivery)
        return matchedCount === 1
      }),

    postpone: (requests, until, reason) =>
      run(async () => {
        if (requests.length === 0) return
        const $set = { dueAt: until, leaseId: null, ...(reason !== undefined && { reason }) }
        await tokenRequests.updateMany(theSame(requests), { $set })
      }),

    settle: (requests) =>
      run(async () => {
        if (requests.length === 0) return
        await tokenRequests.deleteMany(theSame(requests))
      }),

    sweep: (askedBefore, limit) => sweep('token_requests', { at: { $lt: askedBefore } }, limit),

    /** Writes the dead letter first: if the process dies between the writes, the request is delivered again. */
    bury: (request, diedAt, reason) =>
      run(async () => {
        const found = await tokenRequests.findOne(same(request))
        if (found === null) return
        const { boundFact, userId = null, attempts } = found
        const letter = { request: requestOf(found), boundFact, userId, attempts, reason, diedAt }
        await upsert(() => deadTokenRequests.replaceOne({ _id: literal(request.eventId) }, letter, { upsert: true }))
        await tokenRequests.deleteOne(same(request))
      }),

    async list(state, limit, after) {
      const all = { filter: {}, limit, after }
      if (state === 'dead') {
        const { items, next } = await page<DeadRequestDocument>('dead_token_requests', all)
        return { items: items.map(({ _id, boundFact, ...letter }) => letter), next }
      }
      const { items, next } = await page<RequestDocument>('token_requests', all)
      return { items: items.map(waitingRequestOf), next }
    },

    count: (state, limit) =>
      run(() => (state === 'dead' ? deadTokenRequests : tokenRequests).countDocuments({}, { limit })),

    /** Writes the request first: if the process dies between the writes, the dead letter can be revived again. */
    revive: (request) =>
      run(async () => {
        const letter = await deadTokenRequests.findOne({ _id: literal(request.eventId) })
        if (letter === null) return false
        const { boundFact, userId } = letter
        const { id, ...fields } = letter.request
        const $setOnInsert = { ...fields, ...untried, boundFact, userId, asks: 1 }
        let isRevived = false
        await upsert(async () => {
          const { upsertedCount } = await tokenRequests.updateOne({ _id: id }, { $setOnInsert }, { upsert: true })
          isRevived = upsertedCount === 1
        })
        await deadTokenRequests.deleteOne({ _id: letter._id })
        return isRevived
      }),

    discard: (request) =>
      run(async () => {
        const waiting = await tokenRequests.deleteOne(same(request))
        const dead = await deadTokenRequests.deleteOne({ _id: literal(request.eventId) })
        return waiting.deletedCount + dead.deletedCount > 0
      }),

    sweepDead: (diedBefore, limit) => sweep('dead_token_requests', { diedAt: { $lt: diedBefore } }, limit),
  }
}

function waitingRequestOf(document: RequestDocument): UndeliveredRequest {
  const { userId = null, attempts, reason = null } = document
  return { request: requestOf(document), userId, attempts, reason, diedAt: null }
}

function requestOf(document: RequestDocument): TokenRequest {
  const { _id: id, boundFact, userId, attempts, reason, asks, dueAt, leaseId, ...fields } = document
  return { id, ...fields }
}
