import { fileURLToPath } from 'node:url'
import { percentDecoded, percentHint } from '../../lib/percent-decoded.ts'

export interface SmtpServer {
  readonly kind: 'smtp'
  readonly host: string
  readonly port: number
  /** TLS begins with the connection, not by STARTTLS. */
  readonly isTlsFirst: boolean
  readonly login: { readonly user: string; readonly password: string } | null
}

/** The way that messages take, as `mail.url` names it. */
export type MailUrl =
  | SmtpServer
  | { readonly kind: 'file'; readonly folder: string }
  | { readonly kind: 'mailbox' }
  | { readonly kind: 'off' }

export const mailUrlForms = 'smtp://user:password@host:587, smtps://user:password@host, file:///folder, mailbox: or off'

const submissionPort = 587 // RFC 6409
const submissionsPort = 465 // RFC 8314 section 3.3

/** Reads `mail.url`. An objection completes "must be …" or follows the name of the setting, and never repeats the address. */
export function parseMailUrl(text: string): MailUrl | { readonly objection: string } {
  if (text === 'mailbox:') return { kind: 'mailbox' }
  if (text === 'off') return { kind: 'off' }
  if (!URL.canParse(text)) {
    const hint = /^smtps?:/i.test(text) ? `; ${percentHint}` : ''
    return { objection: `must be ${mailUrlForms}${hint}` }
  }
  const url = new URL(text)
  switch (url.protocol) {
    case 'smtp:':
    case 'smtps:':
      return smtpOf(url)
    case 'file:':
      return fileOf(url)
    case 'mailbox:':
      return { objection: 'must be mailbox: with nothing after it' }
    default:
      return { objection: `must be ${mailUrlForms}` }
  }
}

function smtpOf(url: URL): SmtpServer | { objection: string } {
  const { protocol, hostname, port, username, password, pathname, search, hash } = url
  if (hostname === '') return { objection: 'must name a host: smtp://host:587' }
  if (!/^\/?$/.test(pathname) || search !== '' || hash !== '') {
    return { objection: `must end after the port; ${percentHint}` }
  }
  const isTlsFirst = protocol === 'smtps:'
  const number = port === '' ? (isTlsFirst ? submissionsPort : submissionPort) : Number(port)
  if (!isTlsFirst && number === submissionsPort) return { objection: 'must begin with smtps: on port 465' }
  if (isTlsFirst && (number === submissionPort || number === 25)) {
    return { objection: `must begin with smtp: on port ${number}, where TLS begins after the greeting (STARTTLS)` }
  }
  if ((username === '') !== (password === '')) return { objection: 'must have a user and a password, or neither' }
  const [host, user, secret] = [hostname.replace(/^\[|\]$/g, ''), username, password].map(percentDecoded)
  if (host == null || user == null || secret == null) {
    return { objection: `has a % that begins no code; ${percentHint}` }
  }
  return { kind: 'smtp', host, port: number, isTlsFirst, login: user === '' ? null : { user, password: secret } }
}

function fileOf(url: URL): MailUrl | { objection: string } {
  if (url.hostname !== '') return { objection: 'must have three slashes: file:///folder' }
  if (url.search !== '' || url.hash !== '') return { objection: 'must be file:///folder; write ? as %3F and # as %23' }
  try {
    return { kind: 'file', folder: fileURLToPath(url) }
  } catch {
    return { objection: 'must be the absolute path of a folder: file:///folder' }
  }
}
