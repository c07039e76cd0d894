import { mkdir, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'

/**
 * Creates a folder and its missing parents, for their owner alone. Node's `recursive` never ends if the system refuses a
 * folder in an existing parent, as in `/proc`.
 */
export async function makePrivateFolder(path: string): Promise<void> {
  const missing: string[] = []
  for (let folder = resolve(path); !(await isThere(folder)); folder = dirname(folder)) missing.unshift(folder)
  for (const folder of missing) await mkdir(folder, { mode: 0o700 }).catch(unless('EEXIST'))
}

async function isThere(path: string): Promise<boolean> {
  return (await stat(path).catch(unless('ENOENT'))) !== undefined
}

/** For `catch`: ignores errors with this code and throws the others. */
export function unless(code: string): (error: unknown) => void {
  return (error) => {
    if (!(error instanceof Error) || !('code' in error) || error.code !== code) throw error
  }
}
