import { randomUUID } from 'node:crypto'
import { parseEmail } from '../../adapters/addresses/parse-email.ts'
import { openShares } from '../../adapters/stores/store-backend.ts'
import { MailFailed } from '../../application/ports/mailer.ts'
import { mailUrlOf, openMailer, replyToOf, senderOf } from '../../config/composition/mail.ts'
import { settingsFault } from '../../config/settings/schema/fault.ts'
import type { Settings } from '../../config/settings/schema/schema.ts'
import { publicUrl } from '../../config/settings/tenants.ts'
import type { Email } from '../../domain/email.ts'
import { type ExitCode, printed, remark } from '../output.ts'
import { type GlobalOptions, tenantHere } from '../settings.ts'

/** Sends one message, and prints the answer of the server. Exit code 1 if the server did not take it. */
export async function testMail(options: GlobalOptions & { readonly to: string }): Promise<ExitCode> {
  const { settings } = await tenantHere(options, { withoutSecret: true })
  const to = parseEmail(options.to)
  if ('objection' in to) throw settingsFault('--to', to.objection)
  try {
    const answer = await sendTestMail(settings, to.email)
    await printed(options, `The server took the message: ${answer}`, { answer })
    return 0
  } catch (thrown) {
    if (!(thrown instanceof MailFailed)) throw thrown
    const { answer, where } = thrown
    remark(`Not sent: ${where ?? ''}${answer === null ? '' : ` (${answer})`}`)
    remark('The setting is mail.url. docs/mail.md lists what to do')
    return 1
  }
}

/** Sends a message as the service would, and returns the answer of the server, which may quote the address. */
async function sendTestMail(settings: Settings, to: Email): Promise<string> {
  const url = mailUrlOf(settings)
  if (url === null || url.kind === 'mailbox') {
    const problem = `is ${settings.mail.url}, so no server takes messages`
    throw settingsFault('mail.url', `${problem}: set it to the address of an SMTP server`)
  }
  const address = publicUrl(settings, settings.http.port)
  const { mailer, close } = await openMailer({ settings, shares: openShares() }, url)
  try {
    return await mailer.send({
      id: `test.${randomUUID()}`,
      from: senderOf(settings, address),
      replyTo: replyToOf(settings),
      to,
      subject: 'Test of the mail',
      text: `This message tests the mail of ${address}.\n`,
      html: null,
    })
  } finally {
    await close()
  }
}
