import type { Actor } from '../../domain/actor.ts'
import type { Email } from '../../domain/email.ts'
import { type PasswordPolicy, passwordObjection } from '../../domain/password.ts'
import { Refusal, type RefusalCode, Unavailable } from '../../domain/refusal.ts'
import { type User, viewOf } from '../../domain/user.ts'
import { eventMetadata, type RequestFacts } from '../event-metadata.ts'
import type { ObjectionNeeds } from './deletion-objection.ts'

interface Choice {
  readonly password: string
  /** The account. A registration shows it as it would be stored. */
  readonly user: User
  /** The code of the refusal. */
  readonly code: RefusalCode
  readonly by: Actor
}

/** Refuses a password that breaks a rule of the policy. */
export function requireGoodPassword(policy: PasswordPolicy, password: string, email: Email, code: RefusalCode): void {
  const objection = passwordObjection(password, email, policy)
  if (objection !== null) throw new Refusal(code, objection.reason, { rule: objection.rule })
}

/** Asks the deployer about a chosen password before it is hashed. Throws the refusal, or `Unavailable` without an answer. */
export type ValidatePassword = (choice: Choice, request: RequestFacts) => Promise<void>

const timeoutSeconds = 2
/** Further passwords get 503, so that a flood does not fill the thread of the handlers. */
const mostAtOnce = 16

/** Asks the handler `validate_password`, if there is one. */
export function passwordValidation(needs: ObjectionNeeds): ValidatePassword {
  const { eventHandlers, tenant } = needs
  const type = 'password_chosen'
  let running = 0

  return async ({ password, user, code, by }, request) => {
    if (!eventHandlers.handles(type)) return
    if (running >= mostAtOnce) throw new Unavailable('the handler validate_password checks too many passwords')
    running++
    try {
      const context = { ...eventMetadata(needs, request, by), tenant }
      await eventHandlers.call({ type, user: viewOf(user), password, context }, timeoutSeconds)
    } catch (cause) {
      if (cause instanceof Refusal) throw new Refusal(code, cause.reason)
      throw new Unavailable('the handler validate_password failed or gave no answer in time', { cause })
    } finally {
      running--
    }
  }
}
