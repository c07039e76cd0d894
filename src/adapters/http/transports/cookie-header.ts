function pairs(header: string | undefined): [name: string, value: string][] {
  if (header === undefined) return []
  return header.split(';').map((pair) => {
    const [name = '', ...value] = pair.trim().split('=')
    return [name, value.join('=')]
  })
}

/**
 * The value of the only cookie of this name; `null` for none or several. A sibling subdomain may have set one of several, and
 * their order does not show which one (RFC 6265 section 5.4).
 */
export function cookieValue(header: string | undefined, name: string): string | null {
  const values = pairs(header).filter(([one]) => one === name)
  return values.length === 1 ? values[0]?.[1] || null : null
}

export function isRepeated(header: string | undefined, name: string): boolean {
  return pairs(header).filter(([one]) => one === name).length > 1
}

/** The cookies whose names begin so, in the order of the header. */
export function cookiesOf(header: string | undefined, prefix: string): [name: string, value: string][] {
  return pairs(header).filter(([name]) => name.startsWith(prefix))
}
