import { doors } from '../../domain/fields.ts'
import type { User } from '../../domain/user.ts'
import { type RegisterNeeds, type Registration, register } from './register-user.ts'

/** Creates a superuser, for programs and for operators who have the storage. No route does this. */
export class CreateSuperuser {
  readonly #needs: RegisterNeeds
  constructor(needs: RegisterNeeds) {
    this.#needs = needs
  }

  execute(input: Registration): Promise<User> {
    const flags = { isSuperuser: true, isVerified: true }
    return register(this.#needs, { by: { type: 'program' }, ...input }, { flags, door: doors.creation })
  }
}
