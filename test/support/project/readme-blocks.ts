import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** A fenced block of a Markdown file: after its language stand the marks by which tests find it. */
export interface Block {
  readonly language: string
  readonly marks: readonly string[]
  readonly text: string
}

/** A file of the project, by its path from the root. */
export function projectFile(path: string): string {
  return readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8')
}

export const projectRoot = fileURLToPath(new URL('../../../', import.meta.url))

/** A text in Markdown without its code: a title of a field in an example has links of its own. */
export function withoutCode(markdown: string): string {
  return markdown.replace(/^```.*?^```$/gms, '').replace(/`[^`\n]*`/g, '')
}

/** The fenced blocks of a text in Markdown, in order. */
export function blocksOf(markdown: string): Block[] {
  return [...markdown.matchAll(/^```(\S*)([^\n]*)\n([\s\S]*?)^```$/gm)].map(
    ([, language = '', marks = '', text = '']) => ({
      language,
      marks: marks.split(' ').filter((mark) => mark !== ''),
      text,
    }),
  )
}

/** The one block of this language and mark. */
export function theBlock(blocks: readonly Block[], language: string, mark: string): string {
  const found = blocks.filter((block) => block.language === language && block.marks.includes(mark))
  const [only] = found
  if (only === undefined || found.length > 1) throw new Error(`${found.length} blocks are marked ${language} ${mark}`)
  return only.text
}

/** Lines to type, and the output that the page shows. */
export interface Step {
  readonly lines: string
  readonly printed: string
}

/** The tour: each block marked `bash tour`, with the unmarked block of text that follows it before the next one. */
export function tourOf(blocks: readonly Block[]): Step[] {
  const steps: Step[] = []
  for (const [at, { language, marks, text }] of blocks.entries()) {
    if (language !== 'bash' || !marks.includes('tour')) continue
    const next = blocks[at + 1]
    const printed = next?.language === 'text' && next.marks.length === 0 ? next.text : ''
    steps.push({ lines: text, printed })
  }
  return steps
}

/** The output as a pattern: `…` stands for the parts that differ from run to run. */
export function patternOf(printed: string): RegExp {
  const literally = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
  return new RegExp(printed.split('…').map(literally).join('[^"\\n]+'))
}
