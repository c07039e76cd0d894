/** Markup that becomes part of a page without escaping. */
export interface Html {
  readonly markup: string
}

type Part = Html | string | null | readonly (Html | null)[]

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** A template whose strings are escaped, also within the quotes of an attribute, so that no text becomes markup. */
export function html(texts: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return { markup: texts.reduce((before, text, index) => before + markupOf(parts[index - 1] ?? null) + text) }
}

function markupOf(part: Part): string {
  if (part === null) return ''
  if (typeof part === 'string') return part.replace(/[&<>"']/g, (character) => entities[character] ?? character)
  return 'markup' in part ? part.markup : part.map(markupOf).join('')
}
