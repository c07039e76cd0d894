import { domainToUnicode } from 'node:url'
import { type Email, type ParsedEmail, parseEmail as parse } from '../domain/email.ts'
import { InvalidInput } from '../domain/invalid-input.ts'

/** The address that a text spells, as Portcullis spells it; or why it is none, in words for whoever typed it. */
export function parseEmail(text: string): ParsedEmail {
  return typeof text === 'string' ? parse(text, domainToUnicode) : { objection: 'An email address must be a string.' }
}

/** The address that a text spells. Throws `InvalidInput` where `parseEmail` objects. */
export function toEmail(text: string): Email {
  const parsed = parseEmail(text)
  if ('email' in parsed) return parsed.email
  throw new InvalidInput('email', `is no address: ${parsed.objection}`)
}
