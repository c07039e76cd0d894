import { secretMark } from '../../adapters/crypto/derived-keys.ts'
import type { UsersRole } from '../../adapters/stores/store-backend.ts'
import { discardGenerated, type MasterSecret } from '../settings/master-secret.ts'
import { type SettingsFault, settingsFault } from '../settings/schema/fault.ts'

/** Binds the store to the secret, or throws a `SettingsFault` if it is bound to another one. */
export async function bindSecret(
  users: UsersRole,
  master: MasterSecret,
  keyOwner: string | null,
): Promise<'first' | 'same'> {
  const mark = await users.checkSecret(secretMark(master.secret, keyOwner))
  if (mark !== 'other') return mark
  await discardGenerated(master)
  throw otherSecret(master)
}

function otherSecret({ origin, path }: MasterSecret): SettingsFault {
  const where = { given: 'is', read: `in ${path} is`, generated: `is missing: one made anew for ${path} is` }[origin]
  const advice = 'put that one back, or replace it (docs/stores.md#replace-the-secret)'
  return settingsFault('secret', `${where} not the one this user store was started with: ${advice}`)
}
