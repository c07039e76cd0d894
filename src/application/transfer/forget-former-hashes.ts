import { withoutFormerHash } from '../../domain/user.ts'
import { everyOne } from '../every-one.ts'
import type { UserStore } from '../ports/stores/user-store.ts'

interface Needs {
  readonly users: Pick<UserStore, 'list' | 'replace'>
  readonly clock: () => Date
  /** The time at which links of the former system end; `null` if there are none. */
  readonly until: () => Date | null
}

const pageSize = 100

/**
 * Removes the texts of former hashes from all users once no link is compared with them any more. A thief of the store could guess
 * passwords by a hash that costs less than ours. It reads all users, and succeeds once in a process.
 */
export class ForgetFormerHashes {
  readonly #needs: Needs
  #isDone = false
  constructor(needs: Needs) {
    this.#needs = needs
  }

  /** Returns the number of changed users. */
  async execute(): Promise<number> {
    const { users, clock } = this.#needs
    const until = this.#needs.until()
    if (this.#isDone || until === null || clock() < until) return 0
    let forgotten = 0
    let isComplete = true
    for await (const user of everyOne((after) => users.list(pageSize, after))) {
      if (user.imported?.hashText == null) continue
      // A user who has changed meanwhile is read again at the next call.
      if ((await users.replace(withoutFormerHash(user), [])) === 'stored') forgotten++
      else isComplete = false
    }
    this.#isDone = isComplete
    return forgotten
  }
}
