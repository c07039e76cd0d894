import { parseEmail } from '../../adapters/addresses/parse-email.ts'
import { sendTestMail } from '../../config/composition/mail.ts'
import { settingsFault } from '../../config/settings/schema/fault.ts'
import type { ExitCode } from '../output.ts'
import { type GlobalOptions, tenantHere } from '../settings.ts'

/** Sends one message, and prints the answer of the server. Exit code 1 if the server did not take it. */
export async function testMail(options: GlobalOptions & { readonly to: string }): Promise<ExitCode> {
  const { settings } = await tenantHere(options, { withoutSecret: true })
  const to = parseEmail(options.to)
  if ('objection' in to) throw settingsFault('--to', to.objection)
  const { isSent, outcome } = await sendTestMail(settings, to.email)
  const [stream, words] = isSent ? [process.stdout, 'The server took the message'] : [process.stderr, 'Not sent']
  stream.write(`${words}: ${outcome}\n`)
  return isSent ? 0 : 1
}
