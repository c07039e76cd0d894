/**
 * `JSON.parse` that says where it failed and never quotes the text: V8's own messages give either a position
 * or a piece of the text, and that piece may be a secret.
 */
export function parseJson(text: string): { readonly value: unknown } | { readonly offset: number } {
  try {
    return { value: JSON.parse(text) }
  } catch {
    return { offset: offsetOfFault(text) }
  }
}

/**
 * The paths of members that their object has more than once: `JSON.parse` takes the last and other parsers the first
 * (RFC 8259 section 4). What is in a list has an empty name.
 *
 * @param text valid JSON
 */
export function repeatedMembers(text: string): string[][] {
  const repeated: string[][] = []
  const open: { readonly names: Set<string>; name: string }[] = []
  for (const [token, string, colon] of text.matchAll(/[{}[\]]|("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?/g)) {
    const inside = open.at(-1)
    if (token === '{' || token === '[') open.push({ names: new Set(), name: '' })
    else if (token === '}' || token === ']') open.pop()
    else if (colon !== undefined && inside !== undefined) {
      inside.name = String(JSON.parse(string ?? ''))
      if (inside.names.has(inside.name)) repeated.push(open.map(({ name }) => name))
      inside.names.add(inside.name)
    }
  }
  return repeated
}

type Expected = 'value' | 'value or end' | 'name' | 'name or end' | 'colon' | 'comma or end' | 'nothing'

const space = /[ \t\n\r]*/y
const scalar = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const openString = /"(?:[^"\\\p{Cc}]|[\u007f-\u009f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*/uy

/**
 * Where, in UTF-16 units, that begins which RFC 8259 does not allow where it stands: a sign, or the whole literal, number
 * or string that is none. The length when the end is missing.
 */
export function offsetOfFault(text: string): number {
  const open: ('object' | 'array')[] = []
  let expected: Expected = 'value'
  let at = 0

  /** Moves past what `pattern` matches here. */
  const skip = (pattern: RegExp) => {
    pattern.lastIndex = at
    const [matched] = pattern.exec(text) ?? []
    at += matched?.length ?? 0
    return matched !== undefined
  }
  const skipString = () => {
    if (!skip(openString) || text[at] !== '"') return false
    at += 1
    return true
  }
  const afterValue = (): Expected => (open.length === 0 ? 'nothing' : 'comma or end')

  for (;;) {
    skip(space)
    const letter = text[at]
    const inside = open.at(-1)
    const ends = expected.endsWith('or end') && letter === (inside === 'object' ? '}' : ']')
    if (letter === undefined || expected === 'nothing') return at
    if (ends) {
      open.pop()
      at += 1
      expected = afterValue()
    } else if (expected === 'comma or end' && letter === ',') {
      at += 1
      expected = inside === 'object' ? 'name' : 'value'
    } else if (expected === 'colon' && letter === ':') {
      at += 1
      expected = 'value'
    } else if (expected === 'name' || expected === 'name or end') {
      if (!skipString()) return at
      expected = 'colon'
    } else if (expected !== 'value' && expected !== 'value or end') {
      return at
    } else if (letter === '{' || letter === '[') {
      open.push(letter === '{' ? 'object' : 'array')
      at += 1
      expected = letter === '{' ? 'name or end' : 'value or end'
    } else {
      if (!(letter === '"' ? skipString() : skip(scalar))) return at
      expected = afterValue()
    }
  }
}
