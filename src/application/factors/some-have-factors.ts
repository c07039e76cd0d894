import type { UserStore } from '../ports/stores/user-store.ts'

/** Whether some user has a second factor. It reads an index, and one user. */
export async function someHaveFactors(users: Pick<UserStore, 'search'>): Promise<boolean> {
  const page = await users.search({ hasFactor: true }, 1, null)
  return page !== 'bad_cursor' && page.items.length > 0
}
