import { readlinkSync, realpathSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'

export const pathIn = (dataFolder: string): string => join(resolve(dataFolder), 'portcullis.sqlite')

/** Without symbolic links, as far as they can be followed, whether or not what they lead to exists yet. */
export function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch (error) {
    const folder = dirname(path)
    if (folder === path) return path
    const real = realPath(folder)
    const target = isMissing(error) ? targetOf(path) : null // of a loop of links no end is ever found
    return target === null ? join(real, basename(path)) : realPath(resolve(real, target))
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}

/** Where a symbolic link leads; `null` for anything else. */
function targetOf(path: string): string | null {
  try {
    return readlinkSync(path)
  } catch {
    return null
  }
}
