/**
 * Parses JSON without the error message of `JSON.parse`, which quotes the text and may reveal a secret. `offset` is the
 * place of the fault, or `null` if V8 does not tell it.
 */
export function parseJson(text: string): { readonly value: unknown } | { readonly offset: number | null } {
  try {
    return { value: JSON.parse(text) }
  } catch (error) {
    const message = error instanceof Error ? error.message : ''
    if (message.endsWith('end of JSON input')) return { offset: text.length }
    const [, offset] = /at position (\d+)(?: \(line \d+ column \d+\))?$/.exec(message) ?? []
    return { offset: offset === undefined ? null : Number(offset) }
  }
}

/**
 * Finds the place of an unexpected token, which V8 does not tell. A text that is cut before this token could still become
 * JSON, and a text that is cut after it could not. A binary search finds the border.
 */
export function unexpectedAt(text: string): number {
  let [sound, wrong] = [0, text.length]
  while (wrong - sound > 1) {
    const middle = Math.floor((sound + wrong) / 2)
    const parsed = parseJson(text.slice(0, middle))
    if ('value' in parsed || parsed.offset === middle) sound = middle
    else wrong = middle
  }
  return sound
}

/**
 * Finds the paths of repeated members. `JSON.parse` takes the last of them, and other parsers take the first (RFC 8259
 * section 4). In a path, a list is an empty name.
 *
 * @param text valid JSON
 * @param levels reports only members at most this deep. Without it, a body of 16 KiB with thousands of levels takes 100 ms
 */
export function repeatedMembers(text: string, levels = Number.POSITIVE_INFINITY): string[][] {
  const repeated: string[][] = []
  const open: { readonly names: Set<string>; name: string }[] = []
  for (const [token, string, colon] of text.matchAll(/[{}[\]]|("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?/g)) {
    const inside = open.at(-1)
    if (token === '{' || token === '[') open.push({ names: new Set(), name: '' })
    else if (token === '}' || token === ']') open.pop()
    else if (colon !== undefined && inside !== undefined) {
      inside.name = String(JSON.parse(string ?? ''))
      if (inside.names.has(inside.name) && open.length <= levels) repeated.push(open.map(({ name }) => name))
      inside.names.add(inside.name)
    }
  }
  return repeated
}
