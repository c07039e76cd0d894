import { escapeHtml } from '../../../lib/escape-html.ts'

/** Markup that may be part of a page as it is. */
export interface Html {
  readonly markup: string
}

type Part = Html | string | null | readonly Html[]

/** A template whose strings are escaped, so that no text becomes markup. */
export function html(texts: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return { markup: texts.reduce((before, text, index) => before + markupOf(parts[index - 1] ?? null) + text) }
}

function markupOf(part: Part): string {
  if (part === null) return ''
  if (typeof part === 'string') return escapeHtml(part)
  return 'markup' in part ? part.markup : part.map(({ markup }) => markup).join('')
}
