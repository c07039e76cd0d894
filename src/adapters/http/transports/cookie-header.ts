/** Names and values of a Cookie header, in its order. */
function pairs(header: string | undefined): [name: string, value: string][] {
  if (header === undefined) return []
  return header.split(';').map((pair) => {
    const [name = '', ...value] = pair.trim().split('=')
    return [name, value.join('=')]
  })
}

/**
 * The value of the one cookie of this name. `null` when there is none, or more than one: one of them was planted
 * by a neighbouring host then, and their order proves nothing (RFC 6265 section 5.4).
 */
export function cookieValue(header: string | undefined, name: string): string | null {
  const values = pairs(header).filter(([one]) => one === name)
  return values.length === 1 ? values[0]?.[1] || null : null
}

/** Names of the cookies that start so. */
export function cookieNames(header: string | undefined, prefix: string): string[] {
  return pairs(header).flatMap(([name]) => (name.startsWith(prefix) ? [name] : []))
}
