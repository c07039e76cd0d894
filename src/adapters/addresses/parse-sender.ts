import type { Sender } from '../../application/ports/mailer.ts'
import type { Email } from '../../domain/email.ts'
import { parseEmail } from './parse-email.ts'

/** Reads `Acme <accounts@example.com>` or `accounts@example.com`; `null` for other texts. */
export function parseSender(text: string): Sender | null {
  const [, name = '', bracketed] = /^"?([^"<>\p{C}]*?)"?\s*<([^<>]*)>$/u.exec(text.trim()) ?? []
  const address = addressIn(bracketed ?? text)
  return address === null ? null : { name: name.trim() || null, address }
}

/** Reads an email address; `null` for other texts. */
export function addressIn(text: string): Email | null {
  const parsed = parseEmail(text)
  return 'email' in parsed ? parsed.email : null
}
