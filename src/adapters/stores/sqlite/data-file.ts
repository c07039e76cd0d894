import { constants, type Stats, statSync } from 'node:fs'
import { access, stat, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { Unavailable } from '../../../domain/refusal.ts'
import { makePrivateFolder, unless } from '../../../lib/private-folder.ts'
import { Unsuitable } from '../store-backend.ts'
import type { FoundPlace } from './protocol.ts'

/** Errors of the file system that may pass by themselves; any other needs the operator. */
const passing = new Set(['EIO', 'ENOSPC', 'EDQUOT', 'EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN', 'EBUSY', 'ESTALE'])

export const pathIn = (dataFolder: string): string => join(resolve(dataFolder), 'portcullis.sqlite')

export const limitsPathIn = (dataFolder: string): string => join(resolve(dataFolder), 'limits.sqlite')

/** Makes the folder and an empty file that only their owner may enter and read. */
export async function createFile(
  path: string,
  warn: (message: string) => void,
): Promise<Omit<FoundPlace, 'isSmall' | 'leavesMigrations'>> {
  const folder = dirname(path)
  try {
    await makePrivateFolder(folder)
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK)
    // `wx` fails for an existing file. Opening and closing that file would release SQLite's locks (POSIX).
    await writeFile(path, '', { flag: 'wx', mode: 0o600 }).catch(unless('EEXIST'))
    await access(path, constants.R_OK | constants.W_OK)
    const { mode, dev: device, ino: inode } = await stat(path)
    if ((mode & 0o077) !== 0) warn(`${path} can be opened by other users of this machine: chmod 600 it`)
    return { path, device, inode }
  } catch (error) {
    const code = errorCode(error)
    const isFile = error instanceof Error && 'path' in error && error.path === path
    const message = `${isFile ? path : `the data folder ${folder}`} cannot be used (${code})`
    if (passing.has(code)) throw new Unavailable(message, { cause: error })
    const wanted = isFile
      ? 'a file that this process may read and write'
      : 'a folder in which this process may create and write files'
    throw new Unsuitable(`${message}: it must be ${wanted}`)
  }
}

function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error)
}

/** Throws `Unavailable` when the file was removed or replaced: SQLite would write to a file without a name. */
export function demandSameFile({ path, device, inode }: FoundPlace): void {
  let found: Stats
  try {
    found = statSync(path)
  } catch (cause) {
    const wasRemoved = cause instanceof Error && 'code' in cause && cause.code === 'ENOENT'
    throw new Unavailable(wasRemoved ? `${path} was removed` : `${path} cannot be found`, { cause })
  }
  if (found.dev !== device || found.ino !== inode) throw new Unavailable(`${path} was replaced by another file`)
}
