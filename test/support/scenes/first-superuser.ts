import { logIn } from '../http/client.ts'
import type { TestService } from '../services/service.ts'
import { enrol } from './enrol.ts'

/** The bearer token of a verified superuser, on the SQLite file of the running service. */
export async function firstSuperuser({ url, dataFolder }: TestService): Promise<string> {
  const email = 'first.superuser@example.com'
  await enrol({}, dataFolder, [email], { isSuperuser: true, isVerified: true })
  return await logIn(url, email)
}
