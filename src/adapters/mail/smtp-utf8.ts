import SMTPConnection, { type SMTPConnectionOptions } from 'nodemailer/lib/smtp-connection'
import { type Email, localPart } from '../../domain/email.ts'

/** Whether a message to `address` needs SMTPUTF8. A domain does not need it, because it is sent in punycode. */
export function needsSmtpUtf8(address: Email): boolean {
  return /[^\0-\x7f]/.test(localPart(address))
}

/**
 * Asks the server on a connection of its own: nodemailer sends such an address raw to a server that does not offer SMTPUTF8,
 * and a client must not (RFC 6531 section 3.2).
 */
export async function offersSmtpUtf8(options: SMTPConnectionOptions, signal: AbortSignal): Promise<boolean> {
  const connection = new SMTPConnection(options)
  try {
    await new Promise<void>((resolve, reject) => {
      const fail = (code: string) => () => reject(Object.assign(new Error('no answer to EHLO'), { code }))
      signal.addEventListener('abort', fail('EABORT'), { once: true })
      connection.once('error', reject)
      connection.once('end', fail('ECONNECTION'))
      connection.connect((fault) => (fault ? reject(fault) : resolve()))
    })
    return /^250[ -]SMTPUTF8\b/im.test(connection.lastServerResponse || '')
  } finally {
    connection.close()
  }
}
