/** Longer headers are cut: browsers send fewer than a hundred characters. */
const longestHeader = 300
const mostLanguages = 5

/** The tags of `Accept-Language` (RFC 9110 section 12.5.4), the preferred one first, without `*`. */
export function acceptedLanguages(header: string | undefined): readonly string[] {
  const wanted = (header ?? '').slice(0, longestHeader).split(',').flatMap(weighted)
  wanted.sort((one, other) => other.weight - one.weight)
  return wanted.slice(0, mostLanguages).map(({ tag }) => tag)
}

function weighted(item: string): { tag: string; weight: number }[] {
  const [tag = '', ...parameters] = item.split(';').map((part) => part.trim())
  const quality = parameters.find((parameter) => /^q=/i.test(parameter))
  const weight = quality === undefined ? 1 : Number(quality.slice(2))
  return isLanguageTag(tag) && weight > 0 ? [{ tag, weight }] : []
}

/** Whether the text has the form of a tag such as `de` or `de-CH` (RFC 5646). */
export function isLanguageTag(text: string): boolean {
  return /^[a-z]{2,8}(-[a-z0-9]{1,8}){0,3}$/i.test(text)
}

/** The first wanted language that is available, also in a shorter form: `de` for `de-CH` (RFC 4647 section 3.4). */
export function bestLanguage(wanted: readonly string[], available: readonly string[]): string | null {
  for (const tag of wanted) {
    const parts = tag.toLowerCase().split('-')
    for (let length = parts.length; length > 0; length--) {
      const range = parts.slice(0, length).join('-')
      const found = available.find((one) => one.toLowerCase() === range)
      if (found !== undefined) return found
    }
  }
  return null
}
