// Fetches Node for this platform from the registry into .cache, once. It runs before the installation on an old Node,
// so it imports only modules of Node.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The used version of each major version. */
export const versions = JSON.parse(readFileSync(new URL('node-versions.json', import.meta.url), 'utf8'))
const cache = fileURLToPath(new URL('../.cache/', import.meta.url))

/** The folder with `node` in this major version, or `null` if the registry has none for this platform. */
export function nodeOf(major) {
  const { version, packages } = versions[major]
  const names = [`node-${process.platform}-${process.arch}`, `node-bin-${process.platform}-${process.arch}`]
  const name = names.find((one) => one in packages)
  if (name === undefined) return null

  const folder = join(cache, `${name}-${version}`)
  if (!existsSync(folder)) fetchInto(folder, name, version, packages[name])
  return join(folder, 'node_modules', name, 'bin')
}

/** Fetches into a draft and renames it, so that concurrent calls see only a complete and checked folder. */
function fetchInto(folder, name, version, integrity) {
  console.error(`Fetching Node ${version} (once) …`)
  const draft = `${folder}.${process.pid}`
  mkdirSync(draft, { recursive: true })
  try {
    const quietly = ['--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
    const words = ['install', '--prefix', draft, ...quietly, `${name}@${version}`]
    const { status } = spawnSync('npm', words, { cwd: draft, stdio: ['ignore', 2, 2] })
    if (status !== 0) throw new Error(`npm could not fetch ${name}@${version}`)
    const { packages } = JSON.parse(readFileSync(join(draft, 'node_modules', '.package-lock.json'), 'utf8'))
    const isKnown = packages[`node_modules/${name}`]?.integrity === integrity
    if (!isKnown) throw new Error(`${name}@${version} does not match its checksum`)
    try {
      renameSync(draft, folder)
    } catch (error) {
      if (!existsSync(folder)) throw error
    }
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
}
