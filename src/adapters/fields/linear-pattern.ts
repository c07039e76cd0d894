import { createRequire } from 'node:module'
import type * as Re2 from 're2js'
import type { Pattern } from '../../domain/field.ts'

const require = createRequire(import.meta.url)

/**
 * A pattern that takes linear time for every text, so no text can block the process. It is one of RE2 and of ECMAScript, because
 * generated front ends use the same pattern. Throws an error that tells the reason for another one.
 */
export function linearPattern(source: string): Pattern {
  new RegExp(source, 'u')
  // Loaded on demand, because few deployments declare a pattern, and settings are judged without waiting.
  const { RE2JS } = require('re2js') as typeof Re2 // safe: the types of this package
  const compiled = RE2JS.compile(source)
  return { source, matches: (text) => compiled.test(text) }
}
