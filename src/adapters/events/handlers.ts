import type { HandlerCallType, HandlerContext } from '../../application/ports/event-handlers.ts'
import { mostSimilar } from '../../lib/most-similar.ts'
import type { WireChanges, WireTraits, WireUser } from './handler-arguments.ts'

type Awaitable = void | Promise<void>
type PasswordAnswer = Awaitable | string | undefined | Promise<string | undefined>

/**
 * The deployer's handlers; each is optional. Each event calls its handler at least once, with the same `context.eventId` each
 * time, and again later when it throws or takes too long.
 *
 * `on_before_delete` and `validate_password` may refuse: they throw a value with a string `reason`, which the caller reads.
 * `validate_password` may also return the reason.
 */
export interface Handlers {
  on_after_register?(user: WireUser, context: HandlerContext): Awaitable
  on_after_update?(user: WireUser, changes: WireChanges, context: HandlerContext): Awaitable
  on_after_request_verify?(user: WireUser, token: string, context: HandlerContext): Awaitable
  on_after_verify?(user: WireUser, context: HandlerContext): Awaitable
  on_after_forgot_password?(user: WireUser, token: string, context: HandlerContext): Awaitable
  on_after_reset_password?(user: WireUser, context: HandlerContext): Awaitable
  on_after_login?(user: WireUser, context: HandlerContext): Awaitable
  on_new_sign_in?(user: WireUser, traits: WireTraits, context: HandlerContext): Awaitable
  on_account_under_attack?(user: WireUser, context: HandlerContext): Awaitable
  on_before_delete?(user: WireUser, context: HandlerContext): Awaitable
  validate_password?(password: string, user: WireUser, context: HandlerContext): PasswordAnswer
  on_after_delete?(user: WireUser, context: HandlerContext): Awaitable
}

export const handlerNameOf = {
  registered: 'on_after_register',
  updated: 'on_after_update',
  verification_requested: 'on_after_request_verify',
  verified: 'on_after_verify',
  reset_requested: 'on_after_forgot_password',
  password_reset: 'on_after_reset_password',
  logged_in: 'on_after_login',
  new_sign_in: 'on_new_sign_in',
  account_under_attack: 'on_account_under_attack',
  deletion_requested: 'on_before_delete',
  password_chosen: 'validate_password',
  deleted: 'on_after_delete',
} as const satisfies Record<HandlerCallType, keyof Handlers>

export type HandlerName = keyof Handlers

/** The handlers that the process of the request calls itself, because they may refuse it. They handle no event. */
export const questionNames: readonly HandlerName[] = (['deletion_requested', 'password_chosen'] as const).map(
  (type) => handlerNameOf[type],
)

export const handlerNames: readonly HandlerName[] = Object.values(handlerNameOf)

/**
 * Names in `object` that are probably mistakes: similar names (`onAfterRegister`, `on_after_registration`), and names of
 * handlers whose values are no functions.
 */
export function misnamedHandlers(object: object): string[] {
  const known = new Set<string>(handlerNames)
  const isNone = (name: string): boolean =>
    known.has(name) ? typeof Reflect.get(object, name) !== 'function' : /^(on|validate)(_|[A-Z])/.test(name)
  return [...new Set(namesIn(object))].filter(isNone)
}

/** The names of own and inherited members: handlers may be methods of a class. */
function namesIn(object: object): string[] {
  const prototype: unknown = Object.getPrototypeOf(object)
  const isEnd = typeof prototype !== 'object' || prototype === null || prototype === Object.prototype
  return [...Object.getOwnPropertyNames(object), ...(isEnd ? [] : namesIn(prototype))]
}

/** A question about a name that `misnamedHandlers` has found; empty if it is like no name of a handler. */
export function meantHandler(name: string): { readonly hint?: string } {
  const meant = mostSimilar(name, handlerNames)
  return meant === null || meant === name ? {} : { hint: `did you mean ${meant}?` }
}
