import { mkdir, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'

/**
 * Makes a folder and those above it that are missing, for their owner alone. Node's `recursive` never ends where the
 * system cannot make one in a folder that is there, as in `/proc`.
 */
export async function makeFolder(path: string): Promise<void> {
  const missing: string[] = []
  for (let folder = resolve(path); !(await isThere(folder)); folder = dirname(folder)) missing.unshift(folder)
  for (const folder of missing) await mkdir(folder, { mode: 0o700 }).catch(unless('EEXIST'))
}

async function isThere(path: string): Promise<boolean> {
  return (await stat(path).catch(unless('ENOENT'))) !== undefined
}

/** Throws what has another code, for `catch`. */
export function unless(code: string): (error: unknown) => void {
  return (error) => {
    if (!(error instanceof Error) || !('code' in error) || error.code !== code) throw error
  }
}
