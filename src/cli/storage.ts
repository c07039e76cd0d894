import { createLog } from '../adapters/logging/log.ts'
import { openUserStore, type UserStoreSession } from '../config/composition/tenant.ts'
import { type GlobalOptions, tenantHere } from './settings.ts'

/** What keeps the users of the tenant that a command is about. Whoever is in the wrong folder is told that it is empty. */
export async function storageHere(options: GlobalOptions): Promise<UserStoreSession> {
  const { settings } = await tenantHere(options, { withoutSecret: true })
  const storage = await openUserStore(settings, createLog({ ...settings.logs, level: 'silent' }))
  const { newFile } = storage
  if (newFile !== null) process.stderr.write(`portcullis: ${newFile} is new: nobody has kept users there before\n`)
  return storage
}
