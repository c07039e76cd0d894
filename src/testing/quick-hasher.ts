import { createHash } from 'node:crypto'
import type { PasswordHasher } from '../application/ports/password-hasher.ts'
import { normalisePassword } from '../domain/password.ts'

const prefix = '$quick$v=1$'

/** Hashes at once and without protection: for tests that are not about hashing. */
export const quickHasher: PasswordHasher = {
  async hash(password) {
    return `${prefix}${createHash('sha256').update(normalisePassword(password)).digest('base64url')}`
  },
  async verify(password, hash) {
    return hash === (await this.hash(password)) ? 'match' : 'mismatch'
  },
}
