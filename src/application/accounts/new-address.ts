import { type Email, objectionToNewAddress } from '../../domain/email.ts'
import { InvalidInput } from '../../domain/refusal.ts'

/** Throws `InvalidInput` for an address that only existing users may have. */
export function requireNewAddress(email: Email): void {
  const objection = objectionToNewAddress(email)
  if (objection === null) return
  throw new InvalidInput('email', `is not a valid email address: ${objection}`, { objection })
}
