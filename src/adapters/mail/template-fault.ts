import Mustache from 'mustache'

interface Rules {
  /** The names of the fields. */
  readonly known: readonly string[]
  /** The fields that may be inserted without escapes for HTML. */
  readonly raw: readonly string[]
}

interface Found {
  readonly line: number
  readonly problem: string
}

/** A tag of a parsed template: its kind, its text, its start and end, and the tags within a section. */
type Token = readonly [kind: string, text: string, start: number, end: number, within?: readonly Token[]]

/** The first fault of a Mustache template; `null` without one. */
export function templateFault(template: string, rules: Rules): Found | null {
  const at = (offset: number, problem: string): Found => {
    return { line: template.slice(0, offset).split('\n').length, problem }
  }
  let tokens: readonly Token[]
  try {
    tokens = Mustache.parse(template) as readonly Token[] // safe: the documented form of its tokens
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    const [, problem = message, offset = '0'] = /^(.*) at (\d+)$/s.exec(message) ?? []
    // Mustache reports an unclosed tag at the end of the template.
    const unclosed = template.indexOf('{{', template.lastIndexOf('}}') + 1)
    return at(problem === 'Unclosed tag' && unclosed >= 0 ? unclosed : Number(offset), problem)
  }

  function first(tokens: readonly Token[]): Found | null {
    for (const [kind, text, start, , within] of tokens) {
      const problem = problemOf(kind, text, rules)
      if (problem !== null) return at(start, problem)
      const inner = kind === '#' || kind === '^' ? first(within ?? []) : null
      if (inner !== null) return inner
    }
    return null
  }
  return first(tokens)
}

function problemOf(kind: string, text: string, { known, raw }: Rules): string | null {
  if (kind === '>') return `{{>${text}}}: a template cannot include another one`
  if (!['name', '&', '#', '^'].includes(kind)) return null
  if (!known.includes(text)) return `{{${text}}} is no field of this message; its fields are ${known.join(', ')}`
  if (kind === '&' && !raw.includes(text)) return `{{{${text}}}} would not escape HTML; write {{${text}}}`
  return null
}
