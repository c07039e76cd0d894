import { setTimeout as delay } from 'node:timers/promises'
import { toEmail } from '../../../src/adapters/addresses/parse-email.ts'
import { newUserIds } from '../../../src/adapters/crypto/new-id.ts'
import { portsFor } from '../../../src/adapters/stores/store-backend.ts'
import { openRole } from '../../../src/cli/open-role.ts'
import { openHasher, openHashPool } from '../../../src/config/composition/shared-resources.ts'
import { loadSettings } from '../../../src/config/settings/load.ts'
import { jsonId } from '../../../src/domain/ids.ts'
import { Unavailable } from '../../../src/domain/refusal.ts'
import { newUser, type User } from '../../../src/domain/user.ts'
import { anEvent } from '../../../src/testing/builders.ts'
import { goodPassword } from '../http/client.ts'
import { each } from '../http/sender.ts'
import { idsOfTests } from '../mocha/long.ts'

/** By the cost of the settings: a hash of another cost would count as outdated. */
const hashesOfGoodPassword = new Map<string, Promise<string>>()

/** Inserts an account with `goodPassword` for each address into the stores of a running service, for the price of one hash. */
export async function enrol(
  env: Readonly<Record<string, string>>,
  dataFolder: string,
  emails: readonly string[],
  fields: Partial<User> = {},
): Promise<{ id: string; email: string }[]> {
  const options = {
    cwd: dataFolder,
    env: { ...idsOfTests, ...env, PORTCULLIS_DATA_FOLDER: dataFolder },
    withoutSecret: true,
  }
  const { settings } = await loadSettings(options)
  const store = await untilAvailable(() => openRole('users', { id: 'default', pathPrefix: '', settings }))
  const { users, userIds } = portsFor('users', 'the store', store)
  try {
    const { memoryKiB, timeCost, parallelism } = settings.passwords
    const cost = `${memoryKiB} ${timeCost} ${parallelism}`
    const known = hashesOfGoodPassword.get(cost)
    const hashing = known ?? openHasher(settings, openHashPool(settings.passwords)).hash(goodPassword)
    hashesOfGoodPassword.set(cost, hashing)
    const hash = await hashing
    const newUserId = newUserIds(settings.ids, userIds)
    // A few at a time, because a busy store refuses writes that take more than 2 s.
    return await each(emails.length, 16, async (at) => {
      const id = await untilAvailable(newUserId)
      const user = { ...newUser(id, toEmail(emails[at] ?? ''), hash, new Date()), ...fields }
      const outcome = await untilAvailable(() => users.insert(user, [anEvent(user)]))
      // A repeated write may find the user of the first one.
      const isStored = outcome === 'stored' || (await untilAvailable(() => users.find(id))) !== null
      if (!isStored) throw new Error(`an enrolment ended with ${outcome}`)
      return { ...user, id: jsonId(id) as string } // safe: only `npm run test:long` has numbers
    })
  } finally {
    await store.close()
  }
}

/** Repeats an act that a store on a busy machine did not do in time. */
async function untilAvailable<T>(act: () => Promise<T>): Promise<T> {
  for (const deadline = performance.now() + 60_000; ; await delay(200)) {
    try {
      return await act()
    } catch (thrown) {
      if (!(thrown instanceof Unavailable) || performance.now() > deadline) throw thrown
    }
  }
}
