import { emailKey } from '../../domain/email.ts'
import type { UserId } from '../../domain/ids.ts'
import type { User } from '../../domain/user.ts'
import { everyOne } from '../every-one.ts'
import type { UserStore } from '../ports/stores/user-store.ts'

const pageSize = 500

/** Lists users in the order of their ids, which is that of their creation. */
export class ListUsers {
  readonly #users: UserStore
  constructor(needs: { users: UserStore }) {
    this.#users = needs.users
  }

  /**
   * @param input.search part of the address or of a unique field, in any case. It is compared with each user, so a search in
   * a million users takes seconds.
   * @param input.after the last user of an earlier list
   */
  async *execute(input: { search?: string; after?: UserId | null } = {}): AsyncGenerator<User> {
    const wanted = (input.search ?? '').normalize('NFC').toLowerCase()
    for await (const user of everyOne((after) => this.#users.list(pageSize, after), input.after)) {
      const keys = [user.email.toLowerCase(), emailKey(user.email), ...Object.values(user.fields.keys)]
      if (keys.some((key) => key.includes(wanted))) yield user
    }
  }
}
