import { rm } from 'node:fs/promises'
import { openUsersFile, writeUsersFile } from '../../adapters/transfer/portcullis-file.ts'
import { ExportUsers } from '../../application/transfer/export-users.ts'
import { sumOf } from '../../application/transfer/import-progress.ts'
import { type ExitCode, printed, remark, warn } from '../output.ts'
import type { GlobalOptions } from '../settings.ts'
import { openRecords } from './open-records.ts'
import { type ImportOptions, runImport } from './run-import.ts'

interface OneFile {
  readonly file: string
}

/**
 * Writes all users with links and sessions to a new file, and the password hashes with `--with-hashes`. One-time tokens stay.
 * Exit code 2 if the file exists already.
 */
export async function exportUsers(
  options: GlobalOptions & OneFile & { readonly withHashes?: true },
): Promise<ExitCode> {
  const { file, withHashes = false } = options
  const { target, sealedBy, userIds, needs, close } = await openRecords(options)
  try {
    const records = new ExportUsers(target).execute({ withHashes })
    const facts = {
      sealedBy,
      hasHashes: withHashes,
      ...(needs.ids === 'integer' && { lastNumber: await userIds.next() }),
    }
    const written = await writeUsersFile(file, facts, records, sumOf).catch(fileFault)
    if (written === null) {
      warn(`${file} exists already: give the name of a new file`)
      return 2
    }
    await printed(options, `${written.records} records in ${file}, digest ${written.digest}`, { file, ...written })
    if (!withHashes) remark('The file has no password hashes: --with-hashes adds them')
    return 0
  } finally {
    await close()
  }

  async function fileFault(error: NodeJS.ErrnoException): Promise<null> {
    if (error.code === 'EEXIST') return null
    await rm(file, { force: true }) // half a file
    throw error
  }
}

/** Brings the users of a file of `users export`. */
export async function importUsersFile(options: ImportOptions & OneFile): Promise<ExitCode> {
  const { file } = options
  const source = await openUsersFile(file).catch((error: NodeJS.ErrnoException) => ({
    objection: `cannot be read (${error.code})`,
  }))
  if ('objection' in source) {
    warn(`${file} ${source.objection}`)
    return 2
  }
  const records = await openRecords(options)
  try {
    if (!source.hasHashes)
      remark(
        'The file has no password hashes, so these users have no password: --with-hashes of users export adds them',
      )
    const code = await runImport(options, { source, name: `${file} of ${source.bytes} bytes`, records })
    if (source.lastNumber !== undefined && !options.dryRun) await records.userIds.skip(source.lastNumber)
    if (code === 0 && source.end() === null) {
      warn(`${file} ends early: its last line is missing, so some records are missing, too`)
      return 1
    }
    return code
  } finally {
    await records.close()
    await source.close()
  }
}
