import type { Sender } from '../../application/ports/mailer.ts'
import { type Email, localPart } from '../../domain/email.ts'
import { parseEmail } from './parse-email.ts'

/** Reads `Acme <accounts@example.com>` or `accounts@example.com`; `null` for other texts. */
export function parseSender(text: string): Sender | null {
  const [, name = '', bracketed] = /^"?([^"<>\p{C}]*?)"?\s*<([^<>]*)>$/u.exec(text.trim()) ?? []
  const address = addressIn(bracketed ?? text)
  return address === null ? null : { name: name.trim() || null, address }
}

/**
 * Reads an email address of ours; `null` for other texts. Before the @ it has only ASCII, because servers without SMTPUTF8
 * take no message with another sender (RFC 6531 section 3.2).
 */
export function addressIn(text: string): Email | null {
  const parsed = parseEmail(text)
  return 'email' in parsed && /^[\0-\x7f]*$/.test(localPart(parsed.email)) ? parsed.email : null
}
