import { randomUUID } from 'node:crypto'
import { logIn } from '../http/client.ts'
import { enrol } from './enrol.ts'

/** The token of a superuser made for this call, in the stores of a service that runs with `env`. */
export async function superuserToken(
  url: string,
  env: Readonly<Record<string, string>>,
  dataFolder: string,
): Promise<string> {
  const email = `root-${randomUUID()}@example.com`
  await enrol(env, dataFolder, [email], { isSuperuser: true })
  return await logIn(url, email)
}
