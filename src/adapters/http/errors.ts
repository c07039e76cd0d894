import { factorMethods } from '../../application/factors/challenges.ts'
import type { OwnFieldFault } from '../../domain/field.ts'
import { InvalidFields } from '../../domain/fields.ts'
import { passwordRules } from '../../domain/password.ts'
import {
  InvalidInput,
  LimitReached,
  Refusal,
  type RefusalCode,
  type RefusalRule,
  Unavailable,
} from '../../domain/refusal.ts'
import type { Cookie, Reply } from './reply.ts'

/** A fault of a request in FastAPI's form, without `input`, which would echo passwords. */
export interface FieldFault {
  readonly type: string
  readonly loc: readonly (string | number)[]
  readonly msg: string
  readonly ctx?: Readonly<Record<string, unknown>>
}

/** A request that does not match its schema: 422 with all faults. */
export class Invalid extends Error {
  override readonly name = 'Invalid'
  readonly faults: readonly FieldFault[]
  constructor(faults: readonly FieldFault[]) {
    super('invalid request')
    this.faults = faults
  }
}

/** A request that cannot be read. */
export class Unreadable extends Error {
  override readonly name = 'Unreadable'
  readonly status: 400 | 413 | 415 | 501
  /** @param detail the `detail` of the answer */
  constructor(status: Unreadable['status'], detail: string) {
    super(detail)
    this.status = status
  }
}

/** The request has no valid credential. The answer removes `cookies`. */
export class Unauthenticated extends Refusal {
  readonly cookies: readonly Cookie[]
  constructor(cookies: readonly Cookie[]) {
    super('UNAUTHORIZED')
    this.cookies = cookies
  }
}

/**
 * The status and detail of a refusal. The detail is its code, alone or with a challenge, the name of a field, or a reason and one of
 * `rules`; or it is a fixed text. `meaning` is for documents.
 */
type Answer = {
  readonly status: number
  readonly detail:
    | 'code'
    | 'field'
    | 'challenge'
    | { readonly rules: readonly RefusalRule[] }
    | { readonly text: string }
  readonly meaning: string
}

const code = (status: number, meaning: string): Answer => ({ status, detail: 'code', meaning })
const reasoned = (status: number, rules: readonly RefusalRule[], meaning: string): Answer => ({
  status,
  detail: { rules },
  meaning,
})
const ofField = (status: number, meaning: string): Answer => ({ status, detail: 'field', meaning })
const worded = (status: number, text: string, meaning: string): Answer => ({ status, detail: { text }, meaning })

const rulesOfPasswords = [...passwordRules, 'custom'] as const

/** A new refusal does not compile until it has a status. */
export const statusOf: Record<RefusalCode, Answer> = {
  LOGIN_BAD_CREDENTIALS: code(400, 'The address is unknown, the password is wrong, or the user is inactive'),
  LOGIN_SECOND_FACTOR_REQUIRED: {
    status: 400,
    detail: 'challenge',
    meaning: 'The password is right. The login waits for a second factor by one of `methods`, for five minutes',
  },
  LOGIN_USER_NOT_VERIFIED: code(400, 'The password is right, but this login accepts only verified users'),
  REGISTER_USER_ALREADY_EXISTS: code(400, 'The address has an account'),
  REGISTER_FIELD_ALREADY_EXISTS: ofField(400, 'Another user has this value of the unique field `reason`'),
  REGISTER_INVALID_PASSWORD: reasoned(400, rulesOfPasswords, 'The password breaks `rule`'),
  RESET_PASSWORD_BAD_TOKEN: code(
    400,
    'The token is unknown, expired, used or replaced, or the account has changed since',
  ),
  RESET_PASSWORD_INVALID_PASSWORD: reasoned(400, rulesOfPasswords, 'The password breaks `rule`. The token still works'),
  VERIFY_USER_BAD_TOKEN: code(400, 'The token is unknown, expired, used or replaced, or the account has changed since'),
  VERIFY_USER_ALREADY_VERIFIED: code(400, 'The address has been verified in another way'),
  UPDATE_USER_INVALID_PASSWORD: reasoned(400, rulesOfPasswords, 'The password breaks `rule`'),
  UPDATE_USER_EMAIL_ALREADY_EXISTS: code(400, 'Another user has this address'),
  UPDATE_USER_FIELD_ALREADY_EXISTS: ofField(400, 'Another user has this value of the unique field `reason`'),
  UPDATE_USER_BAD_CURRENT_PASSWORD: code(400, '`current_password` is not the current password'),
  FRESH_LOGIN_REQUIRED: code(403, 'The login is too old. Log in again; a `PATCH` may send `current_password` instead'),
  SECOND_FACTOR_REQUIRED: code(403, 'This needs a login with two factors. Log in with the second one, or add it first'),
  SECOND_FACTOR_REFUSED: code(
    400,
    'The code is wrong or used, or the challenge or set-up is unknown, used, expired, or tried too often',
  ),
  PASSKEY_REFUSED: code(400, 'The passkey is unknown, or its answer is wrong, used, expired, or of another page'),
  PASSKEYS_NOT_AVAILABLE: code(
    400,
    'Browsers allow no passkeys here: `http.publicUrl` needs `https`, or the name `localhost`',
  ),
  FACTOR_RESET_BAD_TOKEN: code(400, 'The reset of second factors has ended, or the token is wrong, used or expired'),
  FACTOR_ALREADY_EXISTS: code(400, 'The user has this factor already, or 20 passkeys. Remove one first'),
  INVITE_USER_REFUSED: code(400, 'The user has a password, or is not active'),
  DELETE_USER_REFUSED: reasoned(
    400,
    ['too_old', 'custom'],
    'The handler `on_before_delete` or a foreign key of the app refused (`custom`), or the account is too old for `/verify/reject`',
  ),
  LAST_SUPERUSER: code(400, 'The last active superuser cannot be demoted, deactivated or deleted'),
  OAUTH_INVALID_STATE: code(
    400,
    'The state is unknown, used or expired, or belongs to another browser, login, provider or flow',
  ),
  OAUTH_CODE_REFUSED: worded(400, 'Bad Request', 'The provider refused, or sent no code'),
  OAUTH_PROVIDER_ERROR: code(502, 'The provider did not answer in time, or sent an invalid answer'),
  OAUTH_NOT_AVAILABLE_EMAIL: code(400, 'The provider sent no e-mail address that a new user may have'),
  OAUTH_USER_ALREADY_EXISTS: code(400, 'The address has an account, and this provider account is not linked to it'),
  OAUTH_ACCOUNT_ALREADY_LINKED: code(400, 'This provider account is linked to another user'),
  OAUTH_SCOPE_NOT_ALLOWED: code(400, 'The settings of the provider do not allow this scope'),
  OAUTH_LAST_CREDENTIAL: code(400, 'Without this link, the user could no longer log in'),
  APP_NOT_REGISTERED: code(400, 'No app of the settings has this `client_id` with this `redirect_uri`'),
  UNAUTHORIZED: worded(401, 'Unauthorized', 'The request has no valid credential of an active user'),
  FORBIDDEN: worded(
    403,
    'Forbidden',
    'Only superusers may do this, or only users with a verified address, or the request comes from a page of a foreign origin',
  ),
  ANOTHER_USER_SIGNED_IN: code(
    412,
    'The header `Portcullis-User`, by which a page acts for one user alone, names another one than the one who is signed in',
  ),
  NOT_FOUND: worded(404, 'Not Found', 'No such user, session or linked account'),
}

export function errorReply(status: number, detail: unknown, headers?: Readonly<Record<string, string>>): Reply {
  return { status, body: { detail }, ...(headers && { headers }) }
}

/** The answer to anything that was thrown; `null` for a fault, whose cause clients must not learn. */
export function replyTo(thrown: unknown): Reply | null {
  if (thrown instanceof Refusal) {
    const { status } = statusOf[thrown.code]
    const headers = status === 401 ? { 'WWW-Authenticate': 'Bearer' } : undefined
    const reply = errorReply(status, detailOf(thrown), headers)
    return thrown instanceof Unauthenticated ? { ...reply, cookies: thrown.cookies } : reply
  }
  if (thrown instanceof Invalid) return errorReply(422, thrown.faults)
  if (thrown instanceof InvalidFields) return errorReply(422, thrown.faults.map(faultOfField))
  if (thrown instanceof InvalidInput) return errorReply(422, [faultOf(thrown)])
  if (thrown instanceof Unreadable) return errorReply(thrown.status, thrown.message)
  if (thrown instanceof Unavailable) return errorReply(503, 'SERVICE_UNAVAILABLE', retryAfter(thrown))
  if (thrown instanceof LimitReached) return errorReply(429, 'TOO_MANY_REQUESTS', retryAfter(thrown))
  return null
}

export function faultOfField({ field, item, type, msg, ctx }: OwnFieldFault): FieldFault {
  return { type, loc: ['body', field, ...(item === null ? [] : [item])], msg, ...(ctx && { ctx }) }
}

/** An address that is refused as a new one. Other wrong values do not get beyond the schema. */
function faultOf({ field, problem, objection: reason }: InvalidInput): FieldFault {
  const fault = { type: 'value_error', loc: ['body', field], msg: `value ${problem}` }
  return reason === null ? fault : { ...fault, ctx: { reason } }
}

function retryAfter({ retryAfterSeconds }: { readonly retryAfterSeconds: number }) {
  return { 'Retry-After': String(Math.max(1, Math.ceil(retryAfterSeconds))) }
}

export const faultReply = errorReply(500, 'INTERNAL_SERVER_ERROR')

export function detailOf({ code, reason, rule }: Pick<Refusal, 'code' | 'reason' | 'rule'>): unknown {
  const { detail } = statusOf[code]
  if (detail === 'code') return code
  if (detail === 'challenge') return { code, challenge: '…', methods: factorMethods }
  if (detail === 'field') return { code, reason: reason ?? '' }
  return 'text' in detail ? detail.text : { code, reason: reason ?? '', rule: rule ?? 'custom' }
}
