import type { UserStore } from '../../application/ports/stores/user-store.ts'
import type { Settings } from '../settings/schema/schema.ts'

/** Whether a user has a second factor although no route takes it. It reads an index, and one user. */
export async function hasUnusableFactors(
  users: Pick<UserStore, 'search'>,
  { routers }: Pick<Settings, 'routers'>,
): Promise<boolean> {
  if (routers.factors.enabled) return false
  const page = await users.search({ hasFactor: true }, 1, null)
  return page !== 'bad_cursor' && page.items.length > 0
}
