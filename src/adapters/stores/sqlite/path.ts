import { realpathSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'

export const pathIn = (dataFolder: string): string => join(resolve(dataFolder), 'portcullis.sqlite')

/** Without symbolic links, as far as the path exists and can be followed. */
export function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    const folder = dirname(path)
    return folder === path ? path : join(realPath(folder), basename(path))
  }
}
