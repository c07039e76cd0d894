/** `null` for a text with a faulty percent encoding. */
export function percentDecoded(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

/** Follows an objection to an address whose user or password may hold such a character. */
export const percentHint = 'in a user or password, write / as %2F, ? as %3F, # as %23, @ as %40 and % as %25'
