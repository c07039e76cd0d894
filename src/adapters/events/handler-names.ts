import { handlerNames } from '../../domain/events.ts'

/**
 * Names in `object` that somebody will have meant for handlers and that are none: `on_after_registration`,
 * `onAfterRegister`, and what has a handler's name without being a function, such as an import that is misspelt.
 */
export function misnamedHandlers(object: object): string[] {
  const known = new Set<string>(handlerNames)
  const isNone = (name: string): boolean =>
    known.has(name) ? typeof Reflect.get(object, name) !== 'function' : /^on(_|[A-Z])/.test(name)
  return [...new Set(namesIn(object))].filter(isNone)
}

/** Names of what an object has and inherits: handlers may be methods of a class. */
function namesIn(object: object): string[] {
  const prototype: unknown = Object.getPrototypeOf(object)
  const isEnd = typeof prototype !== 'object' || prototype === null || prototype === Object.prototype
  return [...Object.getOwnPropertyNames(object), ...(isEnd ? [] : namesIn(prototype))]
}
