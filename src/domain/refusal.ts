import type { PasswordRule } from './password.ts'

/** The closed list of reasons for which a valid request is not carried out. Callers may learn them. */
export type RefusalCode =
  | 'LOGIN_BAD_CREDENTIALS'
  | 'LOGIN_USER_NOT_VERIFIED'
  | 'LOGIN_SECOND_FACTOR_REQUIRED'
  | 'REGISTER_USER_ALREADY_EXISTS'
  | 'REGISTER_INVALID_PASSWORD'
  | 'REGISTER_FIELD_ALREADY_EXISTS'
  | 'RESET_PASSWORD_BAD_TOKEN'
  | 'RESET_PASSWORD_INVALID_PASSWORD'
  | 'VERIFY_USER_BAD_TOKEN'
  | 'VERIFY_USER_ALREADY_VERIFIED'
  | 'UPDATE_USER_INVALID_PASSWORD'
  | 'UPDATE_USER_EMAIL_ALREADY_EXISTS'
  | 'UPDATE_USER_FIELD_ALREADY_EXISTS'
  | 'UPDATE_USER_BAD_CURRENT_PASSWORD'
  | 'FRESH_LOGIN_REQUIRED'
  | 'SECOND_FACTOR_REQUIRED'
  | 'SECOND_FACTOR_REFUSED'
  | 'FACTOR_ALREADY_EXISTS'
  | 'FACTOR_RESET_BAD_TOKEN'
  | 'PASSKEY_REFUSED'
  | 'PASSKEYS_NOT_AVAILABLE'
  | 'INVITE_USER_REFUSED'
  | 'DELETE_USER_REFUSED'
  | 'LAST_SUPERUSER'
  | 'OAUTH_INVALID_STATE'
  | 'OAUTH_CODE_REFUSED'
  | 'OAUTH_PROVIDER_ERROR'
  | 'OAUTH_NOT_AVAILABLE_EMAIL'
  | 'OAUTH_USER_ALREADY_EXISTS'
  | 'OAUTH_ACCOUNT_ALREADY_LINKED'
  | 'OAUTH_SCOPE_NOT_ALLOWED'
  | 'OAUTH_LAST_CREDENTIAL'
  | 'APP_NOT_REGISTERED'
  | 'UNAUTHORIZED'
  | 'FORBIDDEN'
  | 'ANOTHER_USER_SIGNED_IN'
  | 'NOT_FOUND'

/** The closed list of rules behind a reason. `custom` is a rule of the deployer, known to a handler only. */
export type RefusalRule = PasswordRule | 'too_old' | 'custom'

/** An expected refusal, with a code that the caller may learn. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly code: RefusalCode
  /** Words for the caller, which never repeat the input, or the name of a field; `null` when the code is enough. */
  readonly reason: string | null
  /** The broken rule, for programs; `null` without a reason. */
  readonly rule: RefusalRule | null

  /** @param options `cause` is for the log only */
  constructor(code: RefusalCode, reason: string | null = null, options: { rule?: RefusalRule; cause?: unknown } = {}) {
    super(reason === null ? code : `${code}: ${reason}`, options)
    this.code = code
    this.reason = reason
    this.rule = reason === null ? null : (options.rule ?? 'custom')
  }
}

/**
 * A store, the password hasher or a handler does not answer or is overloaded. The caller may repeat the request
 * unchanged.
 */
export class Unavailable extends Error {
  override readonly name = 'Unavailable'
  readonly retryAfterSeconds: number

  constructor(what: string, options: { retryAfterSeconds?: number; cause?: unknown } = {}) {
    super(what, { cause: options.cause })
    this.retryAfterSeconds = options.retryAfterSeconds ?? 1
  }
}

/** Too many attempts. The answer is the same for known and unknown addresses. */
export class LimitReached extends Error {
  override readonly name = 'LimitReached'
  readonly retryAfterSeconds: number
  /** Its name in the settings, without the group. */
  readonly limit: string
  /** The network of the client that reached it, for the log. */
  readonly network: string | null

  /** @param limit the setting, for the log */
  constructor(limit: string, retryAfterSeconds: number, network: string | null = null) {
    super(limit)
    this.limit = limit.slice(limit.indexOf('.') + 1)
    this.retryAfterSeconds = retryAfterSeconds
    this.network = network
  }
}

/** A value of the wrong form: a mistake of the calling program. It is thrown before anything is looked up or written. */
export class InvalidInput extends Error {
  override readonly name = 'InvalidInput'
  /** The field of the input, e.g. `email`. */
  readonly field: string
  /** The message without the field. */
  readonly problem: string
  /** The objection to an address, as `parseEmail` returns one; otherwise `null`. */
  readonly objection: string | null

  /** @param problem never repeats the value, which may be a password */
  constructor(field: string, problem: string, { objection = null }: { readonly objection?: string | null } = {}) {
    super(`${field} ${problem}`)
    this.field = field
    this.problem = problem
    this.objection = objection
  }
}
