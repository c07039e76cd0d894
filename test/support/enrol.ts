import { randomUUID } from 'node:crypto'
import { toEmail } from '../../src/adapters/addresses/parse-email.ts'
import { createLog } from '../../src/adapters/logging/log.ts'
import { openHasher, openHashPool } from '../../src/config/composition/shared-resources.ts'
import { openStores } from '../../src/config/composition/stores.ts'
import { loadSettings } from '../../src/config/settings/load.ts'
import type { UserId } from '../../src/domain/ids.ts'
import { newUser, type User } from '../../src/domain/user.ts'
import { anEvent } from '../../src/testing/builders.ts'
import { goodPassword } from './client.ts'

/** By the cost that the settings ask for: another one would be taken for a hash of old. */
const hashesOfGoodPassword = new Map<string, Promise<string>>()

/**
 * Gives each of these addresses an account with `goodPassword`, straight in the stores that a running service uses:
 * superusers as the command line makes them, or many users for the price of one hash.
 */
export async function enrol(
  env: Readonly<Record<string, string>>,
  dataFolder: string,
  emails: readonly string[],
  fields: Partial<User> = {},
): Promise<{ id: string; email: string }[]> {
  const options = { cwd: dataFolder, env: { ...env, PORTCULLIS_DATA_FOLDER: dataFolder }, withoutSecret: true }
  const { settings } = await loadSettings(options)
  const { users: role } = settings.stores
  const stores = await openStores({
    settings: { ...settings, stores: { users: role, sessions: role, tokens: role } },
    clock: () => new Date(),
    log: createLog({ ...settings.logs, level: 'silent' }),
    whenUsersAreThere: async () => {},
    failed: () => {},
  })
  try {
    await stores.prepareOnce()
    const { memoryKiB, timeCost, parallelism } = settings.passwords
    const cost = `${memoryKiB} ${timeCost} ${parallelism}`
    const known = hashesOfGoodPassword.get(cost)
    const hashing = known ?? openHasher(settings, openHashPool(settings.passwords)).hash(goodPassword)
    hashesOfGoodPassword.set(cost, hashing)
    const hash = await hashing
    const enrolled = emails.map((email) => {
      const id = randomUUID() as UserId // safe: a UUID
      return { ...newUser(id, toEmail(email), hash, new Date()), ...fields }
    })
    const outcomes = await Promise.all(enrolled.map((user) => stores.users.users.insert(user, [anEvent(user)])))
    if (outcomes.includes('email_taken')) throw new Error('one of these addresses has an account')
    return enrolled
  } finally {
    await stores.close()
  }
}
