import { createTransport, type NodemailerError } from 'nodemailer'
import { type Mail, type Mailer, MailFailed, MailRefused } from '../../application/ports/mailer.ts'
import type { Email } from '../../domain/email.ts'
import { Unavailable } from '../../domain/refusal.ts'
import { isLoopback } from '../../lib/loopback.ts'
import { semaphore } from '../../lib/semaphore.ts'
import { urlHost } from '../../lib/url-host.ts'
import { composed } from './composed.ts'
import type { SmtpServer } from './mail-url.ts'
import { needsSmtpUtf8, offersSmtpUtf8 } from './smtp-utf8.ts'

interface Options {
  readonly server: SmtpServer
  /** Whether a message needs TLS and a valid certificate. The default is `true`, except on loopback. */
  readonly requiresTls?: boolean | undefined
  /** The name of this machine in EHLO. The default is the name that the machine has, or `[127.0.0.1]`. */
  readonly ehlo?: string | undefined
  readonly timeoutSeconds?: number
  /** The processes that serve together and send over the same account. */
  readonly processes?: number
}

export interface SmtpMailer extends Mailer {
  /** Ends every connection, also in the middle of a message. */
  close(): void
}

/** Microsoft 365 allows three at a time. */
const mostConnections = 3
/** Servers that examine a message take several seconds. If an attempt ends too early, the next one sends it again. */
const standardTimeoutSeconds = 30

/** Sends messages over a few lasting connections. The wait for a connection and the sending may take one time-out each. */
export function smtpMailer({
  server,
  requiresTls,
  ehlo,
  timeoutSeconds = standardTimeoutSeconds,
  processes = 1,
}: Options): SmtpMailer {
  const { host, port, isTlsFirst, login } = server
  const isTlsRequired = requiresTls ?? !isLoopback(host)
  const milliseconds = timeoutSeconds * 1000
  const connections = Math.max(1, Math.floor(mostConnections / processes))
  const slots = semaphore(connections)
  const connection = {
    host,
    port,
    secure: isTlsFirst,
    requireTLS: isTlsRequired,
    tls: { rejectUnauthorized: isTlsRequired },
    ...(ehlo !== undefined && { name: ehlo }),
  }
  const transport = createTransport({
    pool: true,
    maxConnections: connections,
    ...connection,
    ...(login !== null && { auth: { user: login.user, pass: login.password } }),
  })

  const closing = new AbortController()
  const where = `${urlHost(host)}:${port}`

  return {
    async send(mail: Mail) {
      if (!(await slots.acquire(milliseconds))) throw new Unavailable('no SMTP connection was free in time')
      try {
        const signal = AbortSignal.any([AbortSignal.timeout(milliseconds), closing.signal])
        if (needsSmtpUtf8(mail.to) && !(await offersSmtpUtf8(connection, signal))) throw noSmtpUtf8(where)
        const { response } = await transport.sendMail({ ...composed(mail), signal })
        return response
      } catch (error) {
        throw error instanceof MailRefused ? error : failureOf(error, mail.to, timeoutSeconds, where)
      } finally {
        slots.release()
      }
    },
    close() {
      slots.close()
      closing.abort()
      transport.close({ force: true })
    },
  }
}

function noSmtpUtf8(server: string): MailRefused {
  return new MailRefused(`the server does not offer SMTPUTF8, which the address of the recipient needs (${server})`)
}

/** Only a refusal of the recipient or of the message is final. A refused login or sender is a fault of the settings. */
function failureOf(error: unknown, to: Email, timeoutSeconds: number, server: string): MailFailed {
  const { code, originalCode, command, response, responseCode, permanent } = error as Partial<NodemailerError>
  if (code === 'EABORT') return new MailFailed(`the server did not finish within ${timeoutSeconds} s (${server})`)
  const answer = response || null
  const status = responseCode ? `${responseCode} ${enhancedStatus(response)}`.trim() : (originalCode ?? code ?? 'fault')
  const where = `${command ?? 'before the connection'}: ${status}${answer === null ? ` (${server})` : ''}`
  const isFinal = permanent === true && (command === 'RCPT TO' || command === 'DATA')
  const said = { answer, words: wordsOf(response, to) }
  return isFinal && answer !== null ? new MailRefused(where, said) : new MailFailed(where, said)
}

/** The code of RFC 3463, such as 5.1.1. The words after it may quote the address or the message. */
function enhancedStatus(response = ''): string {
  return /^\d{3}[ -](\d\.\d{1,3}\.\d{1,3})\b/.exec(response)?.[1] ?? ''
}

/** An address, a link, or as long as a token. */
const quoted = /[@<>=]|:\/\/|\S{20}/

/** The words after the codes, without those that name the recipient or may be of a link. */
function wordsOf(response = '', to: Email): string {
  const partsOf = (text: string): string[] => text.toLowerCase().split(/[^\p{L}\p{N}]+/u)
  const [local = '', domain = ''] = to.toLowerCase().split('@')
  const ofRecipient = new Set(partsOf(local).filter((part) => part !== ''))
  const namesRecipient = (word: string): boolean =>
    word.toLowerCase().includes(domain) || partsOf(word).some((part) => ofRecipient.has(part))
  return response
    .replace(/^\d{3}[ -](\d\.\d{1,3}\.\d{1,3}\b)?/gm, '')
    .split(/\s+/)
    .filter((word) => word !== '' && !quoted.test(word) && !namesRecipient(word))
    .join(' ')
}
