// npm run docs:api: writes dist/api.md, which the package holds beside the types.
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { emitDeclarations, entries } from './declarations.mjs'

/** A statement at the top of a file of declarations, with the comment above it. */
interface Statement {
  readonly name: string
  readonly text: string
}

/** A file of declarations: its statements, and the origins of imported names. */
interface Declarations {
  readonly statements: readonly Statement[]
  /** By local name. */
  readonly imports: ReadonlyMap<string, Origin>
  /** By exported name. */
  readonly reExports: ReadonlyMap<string, Origin>
}

interface Origin {
  readonly file: string
  readonly name: string
}

const introduction = `# API

<!-- Generated from the declarations of the package by \`npm run docs:api\`. -->

Every name that the package exports, with its whole signature. docs/embedding.md in the repository explains how to use
them. Names that this page does not list may change at any time.`

/**
 * The page dist/api.md.
 *
 * @param entries the files of declarations; the key is the part of an import that follows the name of the package
 */
export function apiPage(entries: ReadonlyMap<string, string>): string {
  const files = new Map<string, Declarations>()
  const declarationsIn = (file: string): Declarations => {
    const known = files.get(file) ?? read(file)
    files.set(file, known)
    return known
  }

  /** The declaration of a name that a file exports. */
  function declared({ file, name }: Origin): Origin {
    const reExport = declarationsIn(file).reExports.get(name)
    return reExport === undefined ? { file, name } : declared(reExport)
  }

  const shown = new Set<string>()
  const keyOf = ({ file, name }: Origin): string => `${file} ${name}`
  const waiting: Origin[] = []

  /** A declaration with the unexported ones of its file that it uses. Other names that it uses are added to `waiting`. */
  function signature(origin: Origin): string {
    const { statements, imports } = declarationsIn(origin.file)
    const own = statements.filter(({ name }) => name === origin.name)
    if (own.length === 0) throw new Error(`${origin.file} does not declare ${origin.name}`)
    shown.add(keyOf(origin))
    const locals: string[] = []
    for (const name of new Set(own.flatMap(({ text }) => namesIn(text)))) {
      const imported = imports.get(name)
      if (imported !== undefined) waiting.push(declared(imported))
      else if (name !== origin.name && statements.some((one) => one.name === name)) {
        const local = { file: origin.file, name }
        if (isExported(statements, name)) waiting.push(local)
        else if (!shown.has(keyOf(local))) locals.push(signature(local))
      }
    }
    return [...own.map(({ text }) => text), ...locals].join('\n\n')
  }

  const sections = [...entries].map(([path, file]) => {
    const { reExports, statements } = declarationsIn(file)
    const exported = [
      ...[...reExports].map(([as, origin]) => ({ as, origin: declared(origin) })),
      ...statements
        .filter(({ text }) => /^export /m.test(text))
        .map(({ name }) => ({ as: name, origin: { file, name } })),
    ].sort((a, b) => compared(a.as, b.as))
    // Marks all names first, so that none is listed as a part of another.
    for (const { origin } of exported) shown.add(keyOf(origin))
    return { path, exported }
  })
  const blocks = sections.map(({ path, exported }) => {
    const specifier = `portcullis${path.slice(1)}`
    const items = exported.map(({ as, origin }) => item(as, signature(origin)))
    return [`## \`${specifier}\``, ...items].join('\n\n')
  })

  const others: string[] = []
  const root = commonFolder([...entries.values()])
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    if (shown.has(keyOf(next))) continue
    others.push(item(`${next.name}, in ${relative(root, next.file).replace(/\.d\.ts$/, '.ts')}`, signature(next)))
  }
  const rest = ['## Used by the signatures above, exported by no entry', ...others.sort(compared)].join('\n\n')
  return `${[introduction, ...blocks, ...(others.length > 0 ? [rest] : [])].join('\n\n')}\n`
}

const item = (heading: string, text: string): string => `### ${heading}\n\n\`\`\`ts\n${text}\n\`\`\``

const compared = (a: string, b: string): number => (a.toLowerCase() < b.toLowerCase() ? -1 : 1)

function isExported(statements: readonly Statement[], name: string): boolean {
  return statements.some((one) => one.name === name && /^export /m.test(one.text))
}

const declaration =
  /^(?:export )?(?:declare )?(?:abstract )?(?:class|function|const|let|interface|type|enum|namespace) ([\w$]+)/m

/** Reads the output of the compiler. */
function read(file: string): Declarations {
  const statements: Statement[] = []
  const imports = new Map<string, Origin>()
  const reExports = new Map<string, Origin>()
  for (const text of statementsOf(readFileSync(file, 'utf8'))) {
    const [, verb, list, from] = /^(import|export)(?: type)? \{([^}]*)\}(?: from ['"]([^'"]+)['"])?;$/.exec(text) ?? []
    const [, name] = declaration.exec(text) ?? []
    if (name !== undefined) statements.push({ name, text })
    if (list === undefined || from === undefined || !from.startsWith('.')) continue
    const source = resolve(dirname(file), from.replace(/\.js$/, '.d.ts'))
    for (const word of list.split(',').filter((one) => one.trim() !== '')) {
      const [named = '', as = named] = word
        .trim()
        .replace(/^type /, '')
        .split(' as ')
      ;(verb === 'import' ? imports : reExports).set(as, { file: source, name: named })
    }
  }
  return { statements, imports, reExports }
}

function statementsOf(text: string): string[] {
  const found: string[] = []
  let lines: string[] = []
  let depth = 0
  for (const line of text.trimEnd().split('\n')) {
    lines.push(line)
    const code = withoutWords(lines.join('\n'))
    depth = count(code, /[{([]/g) - count(code, /[})\]]/g)
    const isComment = code.trim() === ''
    if (depth > 0 || isComment || !/[;}]$/.test(line)) continue
    found.push(lines.join('\n'))
    lines = []
  }
  return found
}

const count = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0

/** Removes comments and texts in quotes. */
function withoutWords(text: string): string {
  return text
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/\/\*[\s\S]*$/, '')
    .replace(/\/\/.*$/gm, '')
    .replace(/'[^'\n]*'|"[^"\n]*"|`[^`]*`/g, "''")
}

function namesIn(text: string): string[] {
  return withoutWords(text).match(/[A-Za-z_$][\w$]*/g) ?? []
}

function commonFolder(files: readonly string[]): string {
  const folders = files.map(dirname).sort((a, b) => a.length - b.length)
  return folders[0] ?? ''
}

/** Emits the declarations and writes the page, by a rename, because concurrent tests write the same page. */
export function writeApiPage(): void {
  emitDeclarations()
  const page = fileURLToPath(new URL('../dist/api.md', import.meta.url))
  const written = join(dirname(page), `.api-${process.pid}.md`)
  writeFileSync(written, apiPage(entries))
  renameSync(written, page)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeApiPage()
