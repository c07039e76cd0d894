import { parseUserId } from '../../domain/ids.ts'
import type { User } from '../../domain/user.ts'
import type { UserStore } from '../ports/stores/user-store.ts'

/** The user whose id a text spells; `null` when it spells none, or nobody's. */
export class ReadUser {
  readonly #users: UserStore
  constructor(needs: { users: UserStore }) {
    this.#users = needs.users
  }

  async execute(text: string): Promise<User | null> {
    const id = parseUserId(text)
    return id === null ? null : await this.#users.find(id)
  }
}
