import type { HandlerCall, HandlerCallType, QuestionType } from '../../application/ports/event-handlers.ts'
import { mostSimilar } from '../../lib/most-similar.ts'
import {
  type WireChanges,
  type WireContext,
  type WireTraits,
  type WireUser,
  wireChanges,
  wireContext,
  wireTraits,
  wireUser,
} from './handler-arguments.ts'

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
  on_after_register?(user: WireUser, context: WireContext): Awaitable
  on_after_update?(user: WireUser, changes: WireChanges, context: WireContext): Awaitable
  on_after_request_verify?(user: WireUser, token: string, context: WireContext): Awaitable
  on_after_invite?(user: WireUser, token: string, expiresAt: Date, context: WireContext): Awaitable
  on_after_verify?(user: WireUser, context: WireContext): Awaitable
  on_after_forgot_password?(user: WireUser, token: string, context: WireContext): Awaitable
  on_after_reset_password?(user: WireUser, context: WireContext): Awaitable
  on_after_login?(user: WireUser, context: WireContext): Awaitable
  on_new_sign_in?(user: WireUser, traits: WireTraits, context: WireContext): Awaitable
  on_factor_reset_started?(user: WireUser, token: string, removesAt: Date, context: WireContext): Awaitable
  on_inactive_sign_in?(user: WireUser, context: WireContext): Awaitable
  on_second_factor_refused?(user: WireUser, traits: WireTraits, context: WireContext): Awaitable
  on_after_lookup?(user: WireUser, context: WireContext): Awaitable
  on_account_under_attack?(user: WireUser, context: WireContext): Awaitable
  on_before_delete?(user: WireUser, context: WireContext): Awaitable
  validate_password?(password: string, user: WireUser, context: WireContext): PasswordAnswer
  on_after_delete?(user: WireUser, context: WireContext): Awaitable
}

export type HandlerName = keyof Handlers

type CallOf<T extends HandlerCallType> = Extract<HandlerCall, { readonly type: T }>

/** The arguments of a handler in their order, without the context, by the names that the console prints. */
type Arguments<N extends HandlerName> = Readonly<Record<string, Parameters<Required<Handlers>[N]>[number]>>

/** Any handler, with arguments that it takes. */
type HandlerOf<T extends HandlerCallType> = {
  [N in HandlerName]: { readonly name: N; readonly args: (call: CallOf<T>) => Arguments<N> }
}[HandlerName]

const onlyUser = ({ user }: HandlerCall) => ({ user: wireUser(user) })
const userAndToken = ({ user, token }: CallOf<'reset_requested'>) => ({ user: wireUser(user), token })

/** The handler of each type of call, and its arguments in the order of fastapi-users. */
const handlerOf: { readonly [T in HandlerCallType]: HandlerOf<T> } = {
  registered: { name: 'on_after_register', args: onlyUser },
  updated: {
    name: 'on_after_update',
    args: ({ user, changes }) => ({ user: wireUser(user), changes: wireChanges(changes) }),
  },
  verification_requested: { name: 'on_after_request_verify', args: userAndToken },
  invited: {
    name: 'on_after_invite',
    args: ({ user, token, expiresAt }) => ({ user: wireUser(user), token, expires_at: expiresAt }),
  },
  verified: { name: 'on_after_verify', args: onlyUser },
  reset_requested: { name: 'on_after_forgot_password', args: userAndToken },
  password_reset: { name: 'on_after_reset_password', args: onlyUser },
  logged_in: { name: 'on_after_login', args: onlyUser },
  new_sign_in: {
    name: 'on_new_sign_in',
    args: ({ user, traits }) => ({ user: wireUser(user), traits: wireTraits(traits) }),
  },
  factor_reset_started: {
    name: 'on_factor_reset_started',
    args: ({ user, token, removesAt }) => ({ user: wireUser(user), token, removes_at: removesAt }),
  },
  second_factor_refused: {
    name: 'on_second_factor_refused',
    args: ({ user, traits }) => ({ user: wireUser(user), traits: wireTraits(traits) }),
  },
  inactive_sign_in: { name: 'on_inactive_sign_in', args: onlyUser },
  looked_up: { name: 'on_after_lookup', args: onlyUser },
  account_under_attack: { name: 'on_account_under_attack', args: onlyUser },
  deletion_requested: { name: 'on_before_delete', args: onlyUser },
  password_chosen: {
    name: 'validate_password',
    args: ({ password, user }) => ({ password, user: wireUser(user) }),
  },
  deleted: { name: 'on_after_delete', args: onlyUser },
}

/** Every type of call. The cast is safe, because the keys of the table are the types. */
export const handlerCallTypes = Object.keys(handlerOf) as readonly HandlerCallType[]

export const handlerNameOf = (type: HandlerCallType): HandlerName => handlerOf[type].name

/** The arguments of the handler for a call, by their names and in their order, without the context. */
export function argumentsOf(call: HandlerCall): Arguments<HandlerName> {
  // Safe: the table has the handler of a type at this type.
  const { args } = handlerOf[call.type] as { readonly args: (call: HandlerCall) => Arguments<HandlerName> }
  return args(call)
}

/** All arguments of the handler, in their order. */
export function allArgumentsOf(call: HandlerCall): readonly unknown[] {
  return [...Object.values(argumentsOf(call)), wireContext(call.context)]
}

/** The handlers that the process of the request calls itself, because they may refuse it. They handle no event. */
export const questionNames: readonly HandlerName[] = (
  ['deletion_requested', 'password_chosen'] as const satisfies readonly QuestionType[]
).map(handlerNameOf)

export const handlerNames: readonly HandlerName[] = handlerCallTypes.map(handlerNameOf)

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
