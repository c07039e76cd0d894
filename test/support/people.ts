import { loadSettings } from '../../src/config/load.ts'
import { createLog } from '../../src/config/log.ts'
import { openStorage, typedEmail } from '../../src/config/storage.ts'
import { call, goodPassword, logIn, register } from './client.ts'
import { startTestService } from './service.ts'

/** Addresses in every state between which a stranger must not be able to tell. */
export interface People {
  readonly unverified: readonly string[]
  readonly verified: readonly string[]
  readonly inactive: readonly string[]
  /** Of nobody. */
  readonly unknown: readonly string[]
}

export const superuserAddress = 'superuser@example.com'

/** Makes a superuser in the stores of these settings, as the command line does: be the service running or not. */
export async function createSuperuserIn(env: Readonly<Record<string, string>>): Promise<void> {
  const { settings } = await loadSettings({ cwd: '/', env, withoutSecret: true })
  const storage = await openStorage(settings, createLog({ ...settings.logs, level: 'silent' }))
  try {
    const input = { email: typedEmail(superuserAddress), password: goodPassword, requestId: 'superuser-of-a-test' }
    await storage.createSuperuser.execute(input)
  } finally {
    await storage.close()
  }
}

/** Fills the stores of these settings with so many people of each kind, and waits until all is delivered. */
export async function settle(
  env: Readonly<Record<string, string>>,
  dataFolder: string,
  count: number,
): Promise<People> {
  const settings = { ...env, PORTCULLIS_DATA_FOLDER: dataFolder }
  const service = await startTestService(settings, { dataFolder })
  try {
    await createSuperuserIn(settings)
    const superuser = await logIn(service.url, superuserAddress)
    const addresses = (kind: string) => Array.from({ length: count }, (_, at) => `${kind}-${at}@example.com`)
    const change = async (email: string, json: object): Promise<void> => {
      const { id } = await register(service.url, email)
      const answer = await call(service.url, 'PATCH', `/users/${id}`, { json, bearer: superuser })
      if (answer.status !== 200) throw new Error(`PATCH answered ${answer.status} ${answer.text}`)
    }
    const people: People = {
      unverified: addresses('somebody'),
      verified: addresses('verified-for-long'),
      inactive: addresses('off'),
      unknown: addresses('nobody-at-all'),
    }
    await Promise.all([
      ...people.unverified.map((email) => register(service.url, email)),
      ...people.verified.map((email) => change(email, { is_verified: true })),
      ...people.inactive.map((email) => change(email, { is_active: false })),
    ])
    const registered = [...people.unverified, ...people.verified, ...people.inactive]
    for (const email of registered) {
      await service.event(({ event, user }) => event === 'on_after_register' && user.email === email)
    }
    return people
  } finally {
    await service.stop()
  }
}
