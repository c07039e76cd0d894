import { handlerNames } from '../../domain/events.ts'

/**
 * Names in `object` that look like handlers but are none: `onAfterRegister`, `on_after_registration`, and the name of a
 * handler whose value is no function, such as a misspelt import.
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
