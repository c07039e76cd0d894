import { parseUserId } from '../../domain/ids.ts'
import type { User } from '../../domain/user.ts'
import type { UserStore } from '../ports/stores/user-store.ts'

/** Reads the user with this id, which may be a number; `null` if it is no id, or no user has it. */
export class ReadUser {
  readonly #users: UserStore
  constructor(needs: { users: UserStore }) {
    this.#users = needs.users
  }

  async execute(given: string | number): Promise<User | null> {
    const id = parseUserId(String(given))
    return id === null ? null : await this.#users.find(id)
  }
}
