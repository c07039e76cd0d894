import { existsSync } from 'node:fs'
import { isCommonPassword } from '../../adapters/crypto/common-passwords.ts'
import { newId } from '../../adapters/crypto/new-id.ts'
import type { Logger } from '../../adapters/logging/log.ts'
import { pathIn } from '../../adapters/stores/sqlite/data-file.ts'
import { CreateSuperuser } from '../../application/accounts/create-superuser.ts'
import { PromoteUser } from '../../application/accounts/promote-user.ts'
import { ChangeUser } from '../../application/change-user.ts'
import type { Outbox } from '../../application/ports/stores/outbox.ts'
import { SettingsFault } from '../settings/schema/fault.ts'
import type { Settings } from '../settings/schema/schema.ts'
import { openHasher, openHashPool } from './shared-resources.ts'
import { openStores } from './stores.ts'

export interface Storage {
  readonly createSuperuser: CreateSuperuser
  readonly promoteUser: PromoteUser
  readonly outbox: Outbox
  /** Where the users are kept, if that is a file which was not there before. */
  readonly newFile: string | null
  close(): Promise<void>
}

const clock = (): Date => new Date()

/** What works on the users' store alone, beside a running service. Throws when the store does not answer. */
export async function openStorage(settings: Settings, log: Logger): Promise<Storage> {
  if (settings.stores.users.kind === 'memory') {
    const message = 'is memory: such users live in the serving process alone, and no other can reach them'
    throw new SettingsFault([{ path: 'stores.users.kind', message, source: 'default' }])
  }
  const { users: role } = settings.stores
  const file = role.kind === 'sqlite' ? pathIn(settings.dataFolder) : null
  const newFile = file === null || existsSync(file) ? null : file
  const stores = await openStores({
    settings: { ...settings, stores: { users: role, sessions: role, tokens: role } },
    clock,
    log,
    whenUsersAreThere: async () => undefined,
    failed: () => undefined,
  })
  try {
    await stores.prepareOnce()
  } catch (thrown) {
    await stores.close()
    throw thrown
  }
  const { users, outbox } = stores.users
  const policy = { minLength: settings.passwords.minLength, isCommon: isCommonPassword }
  const hasher = openHasher(settings, openHashPool(settings.passwords))
  return {
    createSuperuser: new CreateSuperuser({ users, hasher, policy, clock, newId }),
    promoteUser: new PromoteUser({ users, changeUser: new ChangeUser({ users }), clock, newId }),
    outbox,
    newFile,
    close: () => stores.close(),
  }
}
