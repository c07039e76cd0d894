import type { User } from '../../domain/user.ts'
import { type RegisterNeeds, type Registration, register } from './register-user.ts'

/** Creates a superuser, for programs and for operators who have the storage. No route does this. */
export class CreateSuperuser {
  readonly #needs: RegisterNeeds
  constructor(needs: RegisterNeeds) {
    this.#needs = needs
  }

  execute(input: Registration): Promise<User> {
    return register(this.#needs, { by: { type: 'program' }, ...input }, { isSuperuser: true, isVerified: true })
  }
}
