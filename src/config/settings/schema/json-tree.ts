/** An object of JSON: not an array, not `null`. */
export function isGroup(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The member `key`, or `undefined`; what an object inherits (`constructor`, `__proto__`) is no member. */
export function memberOf(value: unknown, key: string): unknown {
  return isGroup(value) && Object.hasOwn(value, key) ? value[key] : undefined
}

export function keysOf(value: unknown): string[] {
  return isGroup(value) ? Object.keys(value) : []
}
