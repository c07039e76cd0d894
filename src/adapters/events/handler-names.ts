import type { HandlerCallType } from '../../application/ports/event-handlers.ts'

/** The names of the deployer's handlers: those of fastapi-users, `on_new_sign_in` and `on_account_under_attack`. */
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
  deleted: 'on_after_delete',
} as const satisfies Record<HandlerCallType, string>

export type HandlerName = (typeof handlerNameOf)[HandlerCallType]

export const handlerNames: readonly HandlerName[] = Object.values(handlerNameOf)

/**
 * Names in `object` that are probably mistakes: similar names (`onAfterRegister`, `on_after_registration`), and names of
 * handlers whose values are no functions.
 */
export function misnamedHandlers(object: object): string[] {
  const known = new Set<string>(handlerNames)
  const isNone = (name: string): boolean =>
    known.has(name) ? typeof Reflect.get(object, name) !== 'function' : /^on(_|[A-Z])/.test(name)
  return [...new Set(namesIn(object))].filter(isNone)
}

/** The names of own and inherited members: handlers may be methods of a class. */
function namesIn(object: object): string[] {
  const prototype: unknown = Object.getPrototypeOf(object)
  const isEnd = typeof prototype !== 'object' || prototype === null || prototype === Object.prototype
  return [...Object.getOwnPropertyNames(object), ...(isEnd ? [] : namesIn(prototype))]
}
