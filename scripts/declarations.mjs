// Writes the types of the package's entries to dist/types: the declarations that the entries reach, and no others.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { root, sourcesStamp } from './prepare.mjs'

/** The declarations of the public entries. The key follows the name of the package in an import. */
export const entries = new Map(
  Object.entries(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).exports)
    .filter(([, target]) => typeof target === 'object')
    .map(([name, { types }]) => [name, join(root, types)]),
)

const out = join(root, 'dist', 'types')
const generators = ['declarations.mjs', 'settings-types.ts', 'configuration-page.ts']

/** Emits them unless they are up to date. Throws the compiler's errors about declarations that an entry reaches. */
export function emitDeclarations() {
  const stamp = join(out, '.portcullis-types')
  const wanted = sourcesStamp(['tsconfig.json', ...generators.map((file) => join('scripts', file))])
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return

  mkdirSync(join(root, 'dist'), { recursive: true })
  const emitted = mkdtempSync(join(root, 'dist', '.declarations-'))
  try {
    const kept = emitInto(emitted)
    const fresh = join(emitted, 'types')
    for (const [file, text] of kept) {
      const target = join(fresh, relative(emitted, file))
      mkdirSync(dirname(target), { recursive: true })
      writeFileSync(target, text)
    }
    writeFileSync(join(fresh, basename(stamp)), wanted)
    rmSync(out, { recursive: true, force: true })
    renameSync(fresh, out)
  } finally {
    rmSync(emitted, { recursive: true })
  }
}

/** The declarations that the entries reach, by file, with their text. */
function emitInto(emitted) {
  const project = join(emitted, 'tsconfig.json')
  writeFileSync(project, JSON.stringify(projectInto(emitted)))
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  const { stdout } = spawnSync(process.execPath, [tsc, '-p', project, '--pretty', 'false'], {
    cwd: root,
    encoding: 'utf8',
  })

  writeFileSync(join(emitted, 'program-settings.d.ts'), settingsTypes())
  const kept = reachable(emitted)
  const faults = stdout.split('\n').filter((line) => kept.has(join(emitted, declarationOf(line))))
  if (faults.length > 0) throw new Error(`the declarations cannot be emitted:\n${faults.join('\n')}`)
  return kept
}

/** The exact types of the settings, from their schema. The sources hold placeholders. */
function settingsTypes() {
  const script = join(root, 'scripts', 'settings-types.ts')
  const { status, stdout, stderr } = spawnSync(process.execPath, [script], {
    cwd: root,
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`the types of the settings cannot be generated:\n${stderr}`)
  return stdout
}

function projectInto(outDir) {
  return {
    extends: join(root, 'tsconfig.json'),
    include: [],
    files: [...entries.values()].map((types) => join(root, 'src', sourceOf(relative(out, types)))),
    compilerOptions: {
      noEmit: false,
      declaration: true,
      emitDeclarationOnly: true,
      types: ['node'],
      typeRoots: [join(root, 'node_modules', '@types')],
      rootDir: join(root, 'src'),
      outDir,
    },
  }
}

const sourceOf = (declaration) => declaration.replace(/\.d\.ts$/, '.ts')

/** `src/a/b.ts(28,17): error TS4058: …` is about `a/b.d.ts`. Other errors are left to the type check. */
function declarationOf(line) {
  const [, path = 'none'] = /^src\/([^(]+)\.ts\([\d,]+\): error TS[49]\d{3}:/.exec(line) ?? []
  return `${path}.d.ts`
}

/** The declarations that the entries reach, with their texts. Imports name the `.js` files. */
function reachable(emitted) {
  const found = new Map()
  const look = (file) => {
    if (found.has(file)) return
    found.set(file, '')
    const text = readFileSync(file, 'utf8').replace(
      /((?:from|import)\s*\(?\s*["'])(\.[^"']+)\.ts(["'])/g,
      (_, before, path, after) => {
        look(resolve(dirname(file), `${path}.d.ts`))
        return `${before}${path}.js${after}`
      },
    )
    found.set(file, text)
  }
  for (const types of entries.values()) look(join(emitted, relative(out, types)))
  return found
}

if (process.argv[1] === fileURLToPath(import.meta.url)) emitDeclarations()
