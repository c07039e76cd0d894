import { handlerNames } from '../../domain/events.ts'

/** Names that somebody will have meant for handlers and that are none: `on_after_registration`, `onAfterRegister`. */
export function unknownHandlers(names: Iterable<string>): string[] {
  const known = new Set<string>(handlerNames)
  return [...new Set(names)].filter((name) => /^on(_|[A-Z])/.test(name) && !known.has(name))
}

/** Names of what an object has and inherits: handlers may be methods of a class. */
export function namesIn(object: object): string[] {
  const prototype: unknown = Object.getPrototypeOf(object)
  const isEnd = typeof prototype !== 'object' || prototype === null || prototype === Object.prototype
  return [...Object.getOwnPropertyNames(object), ...(isEnd ? [] : namesIn(prototype))]
}
