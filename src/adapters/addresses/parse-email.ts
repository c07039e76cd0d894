import { domainToUnicode } from 'node:url'
import { type Email, type ParsedEmail, parseEmail as parse } from '../../domain/email.ts'
import { InvalidInput } from '../../domain/refusal.ts'

/** Reads an email address. An objection is a sentence for the person who typed the text. */
export function parseEmail(text: string): ParsedEmail {
  return typeof text === 'string' ? parse(text, domainToUnicode) : { objection: 'An email address must be a string.' }
}

/** Reads an email address. Throws `InvalidInput` if `parseEmail` has an objection. */
export function toEmail(text: string): Email {
  const parsed = parseEmail(text)
  if ('email' in parsed) return parsed.email
  throw new InvalidInput('email', `is no address: ${parsed.objection}`, { objection: parsed.objection })
}
