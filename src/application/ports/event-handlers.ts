import type { HandlerName, UserChanges } from '../../domain/events.ts'
import type { UserView } from '../../domain/user.ts'

/** What a handler learns beside its arguments. */
export interface HandlerContext {
  /** The same at every delivery of one event: what a handler recognises repetitions by. */
  readonly eventId: string
  readonly requestId: string
  readonly tenant: string
  readonly at: Date
}

/** A call of one of the deployer's handlers. */
export interface HandlerCall {
  readonly name: HandlerName
  readonly user: UserView
  readonly token?: string
  readonly changes?: UserChanges
  readonly context: HandlerContext
}

/** The deployer's handlers. */
export interface EventHandlers {
  /** Whether anybody listens. */
  handles(name: HandlerName): boolean
  /**
   * Resolves when the handler is done. Rejects with `HandlerFailed` when it threw, died or did not end within
   * `timeoutSeconds` of this call; with `Unavailable` when it was not begun in that time; and, where the handler
   * may refuse (`on_before_delete`), with the `Refusal` it threw.
   */
  call(call: HandlerCall, timeoutSeconds: number): Promise<void>
}

/** A handler that was begun and did not succeed. */
export class HandlerFailed extends Error {
  override readonly name: string
  /** Where in the deployer's code, when that is known: file, line and column. */
  readonly where: string | null

  /** @param name the name of what was thrown: the one thing about it that a log may hold */
  constructor(name: string, message: string, where: string | null = null) {
    super(message)
    this.name = name
    this.where = where
  }
}
