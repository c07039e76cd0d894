import { existsSync } from 'node:fs'
import { pathIn } from '../../adapters/stores/sqlite/data-file.ts'
import { CreateSuperuser } from '../../application/accounts/create-superuser.ts'
import { PromoteUser } from '../../application/accounts/promote-user.ts'
import { ChangeUser } from '../../application/change-user.ts'
import type { Outbox } from '../../application/ports/stores/outbox.ts'
import { openStore, type UserStoreAddress } from '../plugins/open-store.ts'
import { SettingsFault } from '../settings/schema/fault.ts'
import type { Settings } from '../settings/schema/schema.ts'
import { userPortsOf } from './ports.ts'
import { openHasher, openHashPool } from './shared-resources.ts'
import { namingRoles } from './stores.ts'

/** The users' store for a command, beside a running service. */
export interface UserStoreSession {
  readonly createSuperuser: CreateSuperuser
  readonly promoteUser: PromoteUser
  readonly outbox: Outbox
  /** The file of the users, if this command has created it. */
  readonly newFile: string | null
  close(): Promise<void>
}

/** Throws when the store does not answer. */
export async function openUserStore(settings: Settings): Promise<UserStoreSession> {
  const { dataFolder, stores, passwords } = settings
  if (stores.users.kind === 'memory') {
    const message = 'is memory: only the serving process can reach such users'
    throw new SettingsFault([{ path: 'stores.users.kind', message, source: 'default' }])
  }
  const file = stores.users.kind === 'sqlite' ? pathIn(dataFolder) : null
  const newFile = file === null || existsSync(file) ? null : file
  // Safe: the schema allows only kinds that store users.
  const address = { ...stores.users, dataFolder } as UserStoreAddress
  const { users, outbox, close } = await namingRoles(['users'], () => openStore(address, { warn: () => undefined }))
  const hasher = openHasher(settings, openHashPool(passwords))
  const ports = userPortsOf(settings, { users, hasher, clock: () => new Date() })
  return {
    createSuperuser: new CreateSuperuser(ports),
    promoteUser: new PromoteUser({ ...ports, changeUser: new ChangeUser(ports) }),
    outbox,
    newFile,
    close,
  }
}
