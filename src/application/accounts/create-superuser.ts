import type { Email } from '../../domain/email.ts'
import type { User } from '../../domain/user.ts'
import { type RegisterNeeds, register } from './register-user.ts'

/** How a deployment gets its first superuser: by whoever has the storage, never over HTTP. */
export class CreateSuperuser {
  readonly #needs: RegisterNeeds
  constructor(needs: RegisterNeeds) {
    this.#needs = needs
  }

  execute(input: { email: Email; password: string; requestId: string }): Promise<User> {
    return register(this.#needs, input, { isSuperuser: true, isVerified: true })
  }
}
