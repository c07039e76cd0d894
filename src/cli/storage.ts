import { createLog } from '../adapters/logging/log.ts'
import { openStorage, type Storage } from '../config/composition/storage.ts'
import { type GlobalOptions, tenantHere } from './settings.ts'

/** What keeps the users of the tenant that a command is about. Whoever is in the wrong folder is told that it is empty. */
export async function storageHere(options: GlobalOptions): Promise<Storage> {
  const { settings } = await tenantHere(options, { withoutSecret: true })
  const storage = await openStorage(settings, createLog({ ...settings.logs, level: 'silent' }))
  const { newFile } = storage
  if (newFile !== null) process.stderr.write(`portcullis: ${newFile} is new: nobody has kept users there before\n`)
  return storage
}
