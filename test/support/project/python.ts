import { execFile, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { skipIfMissing } from '../servers/obstacles.ts'
import { projectRoot } from './readme-blocks.ts'

const run = promisify(execFile)

export function needsPython(suite: Mocha.Context): void {
  const check = 'import ensurepip, sys; sys.exit(sys.version_info < (3, 10))'
  const isMissing = spawnSync('python3', ['-c', check]).status !== 0
  skipIfMissing(suite, isMissing ? 'there is no Python 3.10 with venv (apt-get install python3-venv)' : null)
}

/** The Python of a virtual environment in `.cache`, for which pip has been called once with each of these lists of arguments. */
export async function pythonWith(name: string, ...calls: readonly (readonly string[])[]): Promise<string> {
  const folder = await installed(name, JSON.stringify(calls), async (folder) => {
    await run('python3', ['-m', 'venv', folder])
    for (const args of calls) await run(join(folder, 'bin', 'python'), ['-m', 'pip', ...args])
  })
  return join(folder, 'bin', 'python')
}

/** A folder in `.cache` for which `install` has run once, and once more when `wanted` is another text. */
export async function installed(
  name: string,
  wanted: string,
  install: (folder: string) => Promise<unknown>,
): Promise<string> {
  const folder = join(projectRoot, '.cache', name)
  const stamp = join(folder, 'installed')
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return folder
  await mkdir(folder, { recursive: true })
  await install(folder)
  await writeFile(stamp, wanted)
  return folder
}
