// The suites of tests.
import { spawnSync } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { emitDeclarations } from './declarations.mjs'
import { build, install, requireNode, root } from './prepare.mjs'

const onlyEveryday = ['--ignore', 'test/**/*.full.test.ts', '--ignore', 'test/**/*.long.test.ts']

/**
 * A test file belongs to a suite by its name: `x.test.ts`, `x.full.test.ts` or `x.long.test.ts`. The rules and the use
 * cases are a part of the everyday suite.
 */
export const suites = {
  everyday: ['test/**/*.test.ts', ...onlyEveryday],
  core: ['test/{domain,application}/**/*.test.ts', ...onlyEveryday],
  full: ['test/**/*.full.test.ts'],
  long: ['test/**/*.long.test.ts'],
}
export const inParallel = ['--parallel', '--jobs', `${Math.max(2, availableParallelism())}`]

/** Installs and builds missing parts. */
export async function prepare() {
  requireNode()
  install()
  await build()
  emitDeclarations() // before test files that run at the same time need them
}

/** Returns the exit code of mocha. */
export function mocha(words, { env = process.env, node = process.execPath } = {}) {
  const program = join(root, 'node_modules', 'mocha', 'bin', 'mocha.js')
  const { status, signal } = spawnSync(node, [program, ...words], { cwd: root, env, stdio: 'inherit' })
  if (signal !== null) console.error(`the test run was ended by ${signal}`)
  return status ?? 1
}
