import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Mustache from 'mustache'
import { dateText } from '../../lib/date-text.ts'
import { bestLanguage, isLanguageTag } from '../../lib/languages.ts'
import { commonFields, type MessageFields, type MessageName, messageNames, ownFields } from './message-fields.ts'
import { templateFault } from './template-fault.ts'

interface RenderedMessage {
  readonly subject: string
  readonly text: string
  readonly html: string
}

export interface Templates {
  readonly languages: readonly string[]
  /** Renders in the first of the wanted languages that has templates, otherwise in `otherwise`. */
  render(name: MessageName, wanted: readonly string[], otherwise: string, fields: MessageFields): RenderedMessage
}

/** A template cannot be used. The message begins with the file and the line. */
export class TemplateFault extends Error {
  override readonly name = 'TemplateFault'
}

const layoutFile = 'layout.html'
const layoutFields = ['language', 'subject', 'heading', 'service', 'logo', 'color', 'onColor', 'content']
const subjectLine = /^Subject: (.+)\r?\n/
/** The build copies it beside the bundle. */
const ownFolder = fileURLToPath(new URL('./messages/', import.meta.url))

/**
 * Reads the templates, and those of `folder` in place of ours. Both hold a folder for each language and a `layout.html`.
 * Throws a `TemplateFault`.
 *
 * @param needed the messages that each language must have
 */
export async function loadTemplates(folder: string | null, needed = messageNames): Promise<Templates> {
  const files = new Map([...(await filesIn(ownFolder)), ...(folder === null ? [] : await filesIn(folder))])
  const languages = [
    ...new Set([...files.keys()].filter((name) => name.includes('/')).map((name) => name.split('/')[0] ?? '')),
  ]
  const texts = new Map<string, string>()
  for (const [name, path] of files) texts.set(name, checkedTemplate(name, path, await readFile(path, 'utf8')))
  for (const language of languages) requireWhole(language, texts, { folder, needed })
  const textOf = (name: string): string => texts.get(name) ?? ''

  return {
    languages,
    render(name, wanted, otherwise, fields) {
      const language = bestLanguage(wanted, languages) ?? otherwise
      const time = fields.time instanceof Date ? dateText(fields.time, language, 'UTC') : null
      const view = { ...fields, time, language }
      const source = textOf(`${language}/${fileOf(name)}.txt`)
      const subject = asText(subjectLine.exec(source)?.[1] ?? '', view)
        .replace(/\s+/g, ' ')
        .trim()
      const content = Mustache.render(textOf(`${language}/${fileOf(name)}.html`), view)
      return {
        subject,
        text: asText(source.replace(subjectLine, '').trimStart(), view),
        html: Mustache.render(textOf(layoutFile), { ...view, subject, heading: withoutName(subject, fields), content }),
      }
    },
  }
}

/** Our layout shows the name above. */
function withoutName(subject: string, { service }: MessageFields): string {
  const end = ` – ${service}`
  return subject.endsWith(end) ? subject.slice(0, -end.length) : subject
}

function asText(template: string, view: object): string {
  return Mustache.render(template, view, {}, { escape: String })
}

/** `password-changed` for `passwordChanged`. */
function fileOf(name: MessageName): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}

/** The paths of the templates in a folder, by names such as `en/verify.txt`. */
async function filesIn(folder: string): Promise<Map<string, string>> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    const code = error instanceof Error && 'code' in error ? error.code : error
    throw new TemplateFault(`${folder} cannot be read (${String(code)})`)
  })
  const files = new Map<string, string>()
  for (const entry of entries) {
    const path = join(folder, entry.name)
    if (entry.name === layoutFile) files.set(layoutFile, path)
    if (!entry.isDirectory() || entry.name.startsWith('.')) continue
    if (!isLanguageTag(entry.name))
      throw new TemplateFault(`${path}: the folder must be named for a language, such as fr`)
    for (const name of await readdir(path)) {
      if (!name.startsWith('.')) files.set(`${entry.name}/${name}`, join(path, name))
    }
  }
  return files
}

/** Returns the text of a template, or throws a fault with its line. */
function checkedTemplate(name: string, path: string, text: string): string {
  const fault = (line: number, problem: string) => new TemplateFault(`${path}:${line}: ${problem}`)
  const message = messageNames.find((one) => name.split('/')[1]?.replace(/\.(txt|html)$/, '') === fileOf(one))
  if (name !== layoutFile && message === undefined) {
    const names = messageNames.map((one) => `${fileOf(one)}.txt`).join(', ')
    throw fault(1, `there is no such message; the files are ${names}, and the same with .html`)
  }
  const known = message === undefined ? layoutFields : [...commonFields, ...ownFields[message]]
  const found = templateFault(text, { known, raw: message === undefined ? ['content'] : [] })
  if (found !== null) throw fault(found.line, found.problem)
  if (name.endsWith('.txt') && !subjectLine.test(text)) throw fault(1, 'the first line must be "Subject: …"')
  return text
}

function requireWhole(
  language: string,
  texts: ReadonlyMap<string, string>,
  { folder, needed }: { readonly folder: string | null; readonly needed: readonly MessageName[] },
): void {
  for (const name of needed.flatMap((one) => [`${fileOf(one)}.txt`, `${fileOf(one)}.html`])) {
    if (!texts.has(`${language}/${name}`)) throw new TemplateFault(`${join(folder ?? '', language, name)} is missing`)
  }
}
