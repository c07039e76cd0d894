/** White space, dashes (also U+2212) and invisible characters, which come along when people type or paste a code. */
const separators = /[\s\p{Pd}\p{Cf}\u2212]/gu

/** A code as it was issued, from what somebody typed or pasted. */
export function typedCode(text: string): string {
  return text.replaceAll(separators, '')
}
