import { Refusal, type RefusalCode, Unavailable } from '../../domain/refusal.ts'
import type { Reply } from './reply.ts'

/** One fault of a request, as FastAPI words it; `input` is left out: it would echo passwords. */
export interface FieldFault {
  readonly type: string
  readonly loc: readonly (string | number)[]
  readonly msg: string
  readonly ctx?: Readonly<Record<string, unknown>>
}

/** The request does not have the form its operation asks for: 422 with every fault at once. */
export class Invalid extends Error {
  override readonly name = 'Invalid'
  readonly faults: readonly FieldFault[]
  constructor(faults: readonly FieldFault[]) {
    super('invalid request')
    this.faults = faults
  }
}

/** The request cannot be read at all, for a reason that HTTP has a status for. */
export class Unreadable extends Error {
  override readonly name = 'Unreadable'
  readonly status: 400 | 413 | 415
  readonly detail: string
  constructor(status: 400 | 413 | 415, detail: string) {
    super(detail)
    this.status = status
    this.detail = detail
  }
}

/** How a refusal is answered: its own code, its code and reason, or the words HTTP frameworks use. */
type Answer = { readonly status: number; readonly detail: 'code' | 'code and reason' | { readonly text: string } }

/** Exhaustive on purpose: a new refusal does not compile until it has a status. */
export const statusOf: Record<RefusalCode, Answer> = {
  LOGIN_BAD_CREDENTIALS: { status: 400, detail: 'code' },
  LOGIN_USER_NOT_VERIFIED: { status: 400, detail: 'code' },
  REGISTER_USER_ALREADY_EXISTS: { status: 400, detail: 'code' },
  REGISTER_INVALID_PASSWORD: { status: 400, detail: 'code and reason' },
  RESET_PASSWORD_BAD_TOKEN: { status: 400, detail: 'code' },
  RESET_PASSWORD_INVALID_PASSWORD: { status: 400, detail: 'code and reason' },
  VERIFY_USER_BAD_TOKEN: { status: 400, detail: 'code' },
  VERIFY_USER_ALREADY_VERIFIED: { status: 400, detail: 'code' },
  UPDATE_USER_INVALID_PASSWORD: { status: 400, detail: 'code and reason' },
  UPDATE_USER_EMAIL_ALREADY_EXISTS: { status: 400, detail: 'code' },
  UPDATE_USER_BAD_CURRENT_PASSWORD: { status: 400, detail: 'code' },
  FRESH_LOGIN_REQUIRED: { status: 403, detail: 'code' },
  DELETE_USER_REFUSED: { status: 400, detail: 'code and reason' },
  UNAUTHORIZED: { status: 401, detail: { text: 'Unauthorized' } },
  FORBIDDEN: { status: 403, detail: { text: 'Forbidden' } },
  NOT_FOUND: { status: 404, detail: { text: 'Not Found' } },
}

/** The body of every error. */
export function errorReply(status: number, detail: unknown, headers?: Readonly<Record<string, string>>): Reply {
  return { status, body: { detail }, ...(headers && { headers }) }
}

/** What the client learns of anything that was thrown; `null` for a fault, which it learns nothing of. */
export function replyTo(thrown: unknown): Reply | null {
  if (thrown instanceof Refusal) {
    const { status, detail } = statusOf[thrown.code]
    const headers = status === 401 ? { 'WWW-Authenticate': 'Bearer' } : undefined
    return errorReply(status, wording(thrown, detail), headers)
  }
  if (thrown instanceof Invalid) return errorReply(422, thrown.faults)
  if (thrown instanceof Unreadable) return errorReply(thrown.status, thrown.detail)
  if (thrown instanceof Unavailable) {
    return errorReply(503, 'SERVICE_UNAVAILABLE', { 'Retry-After': String(Math.ceil(thrown.retryAfterSeconds)) })
  }
  return null
}

export const faultReply = errorReply(500, 'INTERNAL_SERVER_ERROR')

function wording(refusal: Refusal, detail: Answer['detail']): unknown {
  if (detail === 'code') return refusal.code
  if (detail === 'code and reason') return { code: refusal.code, reason: refusal.reason ?? '' }
  return detail.text
}
