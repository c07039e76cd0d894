import { domainToUnicode } from 'node:url'
import type { Sender } from '../../application/ports/mailer.ts'
import { type Email, parseEmail } from '../../domain/email.ts'

/** Reads `Acme <accounts@example.com>` or `accounts@example.com`; `null` for other texts. */
export function parseSender(text: string): Sender | null {
  const [, name = '', bracketed] = /^"?([^"<>\p{C}]*?)"?\s*<([^<>]*)>$/u.exec(text.trim()) ?? []
  const address = parseAddress(bracketed ?? text)
  return address === null ? null : { name: name.trim() || null, address }
}

export function parseAddress(text: string): Email | null {
  const parsed = parseEmail(text, domainToUnicode)
  return 'email' in parsed ? parsed.email : null
}
