import type { Actor } from '../../domain/actor.ts'
import type { AccountEvent, EventMetadata } from '../../domain/events.ts'
import type { UserView } from '../../domain/user.ts'

/** The context that each handler gets after its arguments. */
export interface HandlerContext {
  /** The same at each delivery of an event, so handlers can recognise repetitions. */
  readonly eventId: string
  readonly requestId: string
  /** The languages that the client wants, the preferred one first. */
  readonly languages: readonly string[]
  readonly by: Actor
  readonly tenant: string
  readonly at: Date
}

interface Call {
  readonly user: UserView
  readonly context: HandlerContext
}

/** The call for an event: its type, its user and its own data. */
type EventCall<E extends AccountEvent> = E extends {
  readonly type: 'verification_requested' | 'invited' | 'factor_reset_started'
}
  ? never
  : Call & Omit<E, 'id' | keyof EventMetadata>

/** A call that hands out a one-time token. */
interface TokenCall extends Call {
  readonly type: 'verification_requested' | 'reset_requested'
  readonly token: string
}

/** The call that hands out the token with which a user chooses the first password. */
interface InviteCall extends Call {
  readonly type: 'invited'
  readonly token: string
  readonly expiresAt: Date
}

/** The call that hands out the token to stop the reset of the second factors. */
interface FactorResetCall extends Call {
  readonly type: 'factor_reset_started'
  readonly token: string
  readonly removesAt: Date
}

/** A question before a deletion, or before a chosen password is hashed. The handler may answer with a refusal. */
type Question =
  | (Call & { readonly type: 'deletion_requested' })
  /** Handlers that print their calls must not handle this type. */
  | (Call & { readonly type: 'password_chosen'; readonly password: string })

/** A call of a handler. Each event is one, with its own data; only a request for a token has the token instead. */
export type HandlerCall = EventCall<AccountEvent> | TokenCall | InviteCall | FactorResetCall | Question

export type HandlerCallType = HandlerCall['type']

export type TokenCallType = TokenCall['type']

export type QuestionType = Question['type']

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
