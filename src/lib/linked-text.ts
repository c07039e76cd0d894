/** Links of a text: `[terms](https://example.com/terms)`. */
const links = /\[([^[\]]+)\]\(([^()\s]+)\)/

/** A part of a text. `address`: that of a link, or `null`. */
export interface TextPart {
  readonly text: string
  readonly address: string | null
}

export function partsOf(text: string): TextPart[] {
  const pieces = text.split(links)
  return pieces.flatMap((piece, at) => {
    if (at % 3 === 2) return [] // the address of the link before it
    return [{ text: piece, address: at % 3 === 1 ? (pieces[at + 1] ?? null) : null }]
  })
}

export function withoutLinks(text: string): string {
  return partsOf(text)
    .map((part) => part.text)
    .join('')
}

/** An https address, or a path of the same host. */
export function isLinkAddress(address: string): boolean {
  if (!address.startsWith('/')) return address.startsWith('https://') && URL.canParse(address)
  const host = 'https://host.example'
  return URL.canParse(address, host) && new URL(address, host).origin === host
}
