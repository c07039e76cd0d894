import { toEmail } from '../../src/adapters/addresses/parse-email.ts'
import { createLog } from '../../src/adapters/logging/log.ts'
import { openUserStore } from '../../src/config/composition/tenant.ts'
import { loadSettings } from '../../src/config/settings/load.ts'
import { goodPassword, logIn } from './client.ts'
import type { TestService } from './service.ts'

/** The bearer token of a superuser, made as the command line makes one: on the SQLite file of the running service. */
export async function firstSuperuser({ url, dataFolder }: TestService): Promise<string> {
  const email = 'first.superuser@example.com'
  const env = { PORTCULLIS_DATA_FOLDER: dataFolder }
  const { settings } = await loadSettings({ cwd: dataFolder, env, withoutSecret: true })
  const storage = await openUserStore(settings, createLog({ ...settings.logs, level: 'silent' }))
  try {
    const input = { email: toEmail(email), password: goodPassword, requestId: 'superuser-of-a-test' }
    await storage.createSuperuser.execute(input)
  } finally {
    await storage.close()
  }
  return await logIn(url, email)
}
