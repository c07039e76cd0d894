import type { AccountEventType, UserChanges } from '../../domain/events.ts'
import type { ClientTraits } from '../../domain/session.ts'
import type { UserView } from '../../domain/user.ts'

/** The context that each handler gets after its arguments. */
export interface HandlerContext {
  /** The same at each delivery of an event, so handlers can recognise repetitions. */
  readonly eventId: string
  readonly requestId: string
  /** The languages of the request's `Accept-Language`, the preferred one first. */
  readonly languages: readonly string[]
  readonly tenant: string
  readonly at: Date
}

/** The types of calls: each type of event, a request for a reset, and the questions that a handler may answer with a refusal. */
export type HandlerCallType = AccountEventType | 'reset_requested' | QuestionType

/** The questions before a deletion and before a chosen password is hashed. */
export type QuestionType = 'deletion_requested' | 'password_chosen'

export interface HandlerCall {
  readonly type: HandlerCallType
  readonly user: UserView
  readonly token?: string
  /** The chosen password, of `'password_chosen'` only. Handlers that print their calls must not handle this type. */
  readonly password?: string
  readonly changes?: UserChanges
  readonly traits?: ClientTraits
  readonly context: HandlerContext
}

export interface EventHandlers {
  handles(type: HandlerCallType): boolean
  /**
   * Resolves when the handler is done. Rejects with `HandlerFailed` when it threw, died or did not end within
   * `timeoutSeconds`, and with `Unavailable` when it did not begin within that time. For a question it may reject with a
   * `Refusal`, whose reason counts.
   */
  call(call: HandlerCall, timeoutSeconds: number): Promise<void>
}

/** A handler began and did not succeed. */
export class HandlerFailed extends Error {
  override readonly name: string
  /** The place of the failure, if known: file, line and column in the deployer's code, or a command of SMTP. */
  readonly where: string | null
  /** No repetition can succeed. */
  readonly isFinal: boolean = false

  /** @param name the name of the thrown value, the only part of it that a log may hold */
  constructor(name: string, message: string, where: string | null = null) {
    super(message)
    this.name = name
    this.where = where
  }
}

/** Whether no later attempt can succeed. */
export function isFinal(error: unknown): boolean {
  return error instanceof HandlerFailed && error.isFinal
}
