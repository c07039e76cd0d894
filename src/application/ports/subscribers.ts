import type { HandlerName, UserChanges } from '../../domain/events.ts'
import type { UserView } from '../../domain/user.ts'

/** What a handler learns beside its arguments. */
export interface HandlerContext {
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
export interface Subscribers {
  /** Whether anybody listens. */
  handles(name: HandlerName): boolean
  /** Resolves when the handler is done; rejects when it threw, died or did not end in time. */
  call(call: HandlerCall, timeoutSeconds: number): Promise<void>
}
