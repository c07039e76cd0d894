const longestMessage = 300
/** More than `longestMessage`, because the masks do not recognise an address or a token that was cut. */
const longestRead = 4_000

/** Masks words that look like an address, the credentials of a URL or a token. */
export function scrub(message: string): string {
  return message
    .slice(0, longestRead)
    .split(/(\s+)/)
    .map((word) => (word.includes('@') ? '[address]' : word.replace(/[\w-]{40,}/g, '[token]')))
    .join('')
    .slice(0, longestMessage)
}
