import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

export const sourceFolder = fileURLToPath(new URL('../../../src', import.meta.url))

/** One import of a file below `src` or of a package. */
export interface Arrow {
  readonly from: string
  readonly to: string
  readonly isPackage: boolean
}

const specifiers = [
  /^\s*(?:import|export)\s[^'"]*?from\s*['"]([^'"]+)['"]/gm, // import … from, export … from
  /^\s*import\s*['"]([^'"]+)['"]/gm, // for its effect alone
  /\b(?:import|require|resolve)\(\s*['"]([^'"]+)['"]\s*\)/g, // when it is needed
  /\bnew URL\([^)]*?['"](\.[^'"]+\.ts)['"]/g, // a thread's entry
]

/** Every source file below `folder`. */
export function sourceFiles(folder = sourceFolder): { file: string; text: string }[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => ({ file: file.split(sep).join('/'), text: readFileSync(join(folder, file), 'utf8') }))
}

/** Every import below `folder`, types among them. */
export function arrowsBelow(folder: string): Arrow[] {
  return sourceFiles(folder).flatMap(({ file, text }) => arrowsOf(file, text, folder))
}

export function arrowsOf(file: string, text: string, folder = sourceFolder): Arrow[] {
  const found = new Set(specifiers.flatMap((pattern) => [...text.matchAll(pattern)].map(([, name = '']) => name)))
  return [...found].map((name) => {
    if (!name.startsWith('.')) return { from: file, to: packageOf(name), isPackage: true }
    const target = resolve(folder, dirname(file), name)
    return { from: file, to: relative(folder, target).split(sep).join('/'), isPackage: false }
  })
}

/** `mongodb` of `mongodb/lib/x`, `@koa/router` as it is, `node:` of every module of Node. */
function packageOf(name: string): string {
  if (name.startsWith('node:')) return 'node:'
  return name
    .split('/')
    .slice(0, name.startsWith('@') ? 2 : 1)
    .join('/')
}
