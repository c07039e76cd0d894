import { type EmailKey, folded, withoutOuterMarks } from './email.ts'

/** Normalisation takes quadratic time, and anybody may send a login name. */
const maxLength = 1024

/** Whether a login field may have this value. With an `@` it could be the address of another user. */
export function isLoginName(text: string): boolean {
  if (text.length > maxLength) return false
  return text !== '' && text === withoutOuterMarks(text) && !text.normalize('NFKC').includes('@')
}

/**
 * The key of a typed text, equal for all spellings of a login name; `null` if it cannot be one. A counter takes it in place of the
 * key of an address, if no user has the name.
 */
export function loginNameKey(text: string): EmailKey | null {
  const name = withoutOuterMarks(text)
  if (!isLoginName(name) || name.includes('\0') || !name.isWellFormed()) return null
  return folded(name) as EmailKey // safe: it has no `@`, so it is the key of no address
}
