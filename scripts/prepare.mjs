// The first step of `npm start` and `npm test`: installs and builds missing or outdated parts. It runs before the
// installation, so it imports only modules of Node. Its output goes to standard error.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))
const at = (...parts) => join(root, ...parts)

/** The scripts of package.json start with `scripts/node`, which finds a Node that is new enough. */
export function requireNode() {
  if (Number.parseInt(process.versions.node, 10) >= 22) return
  console.error(`This needs Node 22 or later, not ${process.versions.node}: start it with scripts/node.`)
  process.exit(1)
}

/** Native modules depend on the platform, and not on the version of Node (Node-API). */
const installation = () => sha([readFileSync(at('package-lock.json'), 'utf8'), process.platform, process.arch])

export function install() {
  const stamp = at('node_modules', '.portcullis-install')
  // `npm prune --omit=dev` removes the development packages, but not the stamp.
  if (read(stamp) === installation() && existsSync(at('node_modules', 'esbuild'))) return
  if (!installedByHand()) {
    console.error('Installing dependencies (once) …')
    run('npm', ['ci', '--include=dev', '--no-audit', '--no-fund'])
  }
  writeFileSync(stamp, installation())
}

/** Whether npm has installed the current lock file, and the native driver loads. */
function installedByHand() {
  const record = at('node_modules', '.package-lock.json')
  if (!existsSync(record) || statSync(record).mtimeMs < statSync(at('package-lock.json')).mtimeMs) return false
  const check = "const D = require('better-sqlite3'); new D(':memory:').close(); require('esbuild')"
  return spawnSync(process.execPath, ['-e', check], { cwd: root, stdio: 'ignore' }).status === 0
}

export async function build() {
  const stamp = at('dist', '.portcullis-build')
  const wanted = sourcesStamp(['scripts/prepare.mjs'])
  if (read(stamp) === wanted) return

  const esbuild = createRequire(import.meta.url)('esbuild')
  const { metafile } = await esbuild.build({
    absWorkingDir: root,
    entryPoints: {
      portcullis: 'src/cli/portcullis.ts',
      main: 'src/cli/main.ts',
      'sqlite-writer-thread': 'src/adapters/stores/sqlite/write/thread.ts',
      'handler-thread': 'src/adapters/events/module/thread.ts',
      'require-node': 'src/lib/require-node.ts',
      ...publicEntries(),
    },
    outdir: 'dist',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node22',
    sourcemap: true,
    legalComments: 'none',
    // Drivers, native modules and packages for providers are loaded on demand; the others start faster as one file. A
    // CommonJS package with a dynamic import must be in this list, because a bundle exports only its default.
    external: [
      'simple-oauth2',
      'undici',
      'mongodb',
      'ioredis',
      'better-sqlite3',
      'argon2',
      'bcrypt',
      'tldts',
      '@zxcvbn-ts/language-common',
    ],
    // Imports run in their order, so the version of Node is checked before any package runs. CommonJS packages in the
    // bundle call `require` for Node's own modules.
    banner: {
      js: "import './require-node.js'; import { createRequire as portcullisRequire } from 'node:module'; const require = portcullisRequire(import.meta.url);",
    },
    alias: { 'mime-db': './node_modules/mime-db/index.js' }, // packages bring three copies of this table
    logLevel: 'warning',
    metafile: true,
  })
  await esbuild.build({
    absWorkingDir: root,
    entryPoints: pageEntries(),
    outdir: 'dist/pages',
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    legalComments: 'none',
    logLevel: 'warning',
  })
  await esbuild.stop() // its process would stay as long as the service
  rmSync(at('dist', '.compile-cache'), { recursive: true, force: true }) // of code that is gone
  keepTwoBuilds(
    at('dist'),
    Object.keys(metafile.outputs).map((file) => basename(file)),
  )
  mkdirSync(at('dist'), { recursive: true })
  cpSync(at('src', 'adapters', 'mail', 'messages'), at('dist', 'messages'), { recursive: true })
  copySwaggerUi()
  writeFileSync(stamp, wanted)
}

/**
 * Copies the files of Swagger UI that `/docs` shows. As a dependency, Swagger UI would install `@scarf/scarf`, whose script
 * reports each installation. Its license (Apache-2.0 section 4) requires the license and the notice beside the copies.
 */
function copySwaggerUi() {
  const shown = ['swagger-ui-bundle.js', 'swagger-ui.css', 'favicon-32x32.png']
  for (const file of [...shown, 'swagger-ui-bundle.js.LICENSE.txt', 'LICENSE', 'NOTICE']) {
    cpSync(at('node_modules', 'swagger-ui-dist', file), at('dist', 'swagger-ui', file))
  }
}

/** A script for each account page, and the style sheets. */
function pageEntries() {
  const pages = 'src/adapters/http/pages'
  const scripts = readdirSync(at(pages, 'account/browser/pages')).map((file) => `account/browser/pages/${file}`)
  scripts.push('console/browser/console.ts')
  const styles = ['base.css', 'mailbox.css', 'account/browser/style.css', 'console/browser/admin.css']
  const entry = (path) => [basename(path).replace(/\.\w+$/, ''), `${pages}/${path}`]
  return Object.fromEntries([...scripts, ...styles].map(entry))
}

/** The public entries, such as `testing` of `src/testing/index.ts`. */
function publicEntries() {
  const { exports } = JSON.parse(readFileSync(at('package.json'), 'utf8'))
  const entries = Object.values(exports).filter((target) => typeof target === 'object')
  const source = (types) => types.replace(/^\.\/dist\/types\/(.*)\.d\.ts$/, 'src/$1.ts')
  return Object.fromEntries(entries.map(({ types, default: built }) => [basename(built, '.js'), source(types)]))
}

/**
 * Removes the chunks of earlier builds, whose names contain a hash. Those of the build before this one stay, because a process that
 * runs it may load them later. The types have their own stamp and stay.
 */
export function keepTwoBuilds(folder, current) {
  const record = '.portcullis-outputs'
  const files = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile())
  const present = files.map(({ name }) => name)
  const former = read(join(folder, record))?.split('\n') ?? present
  for (const name of present) {
    if (!current.includes(name) && !former.includes(name)) rmSync(join(folder, name))
  }
  writeFileSync(join(folder, record), current.join('\n'))
}

/** Changes when a source does, or one of `others`. */
export function sourcesStamp(others) {
  const sources = [...filesBelow(at('src')), ...['package.json', 'package-lock.json', ...others].map((one) => at(one))]
  return sha(sources.map((file) => `${file} ${statSync(file).mtimeMs} ${statSync(file).size}`))
}

function filesBelow(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
}

/** Runs a command with its output on standard error, and ends this process if the command fails. */
function run(command, args) {
  const { status } = spawnSync(command, args, { cwd: root, stdio: ['ignore', 2, 2] })
  if (status !== 0) {
    console.error(`${command} ${args.join(' ')} failed.`)
    process.exit(1)
  }
}

function sha(parts) {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part).update('\0')
  return hash.digest('hex')
}

function read(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return null
  }
}
