import { toEmail } from '../../adapters/addresses/parse-email.ts'
import { sendTestMail } from '../../config/composition/mail.ts'
import { InvalidInput } from '../../domain/refusal.ts'
import { type ExitCode, warn } from '../output.ts'
import { type GlobalOptions, tenantHere } from '../settings.ts'

/** Sends one message, and prints the answer of the server. Exit code 1 if the server did not take it. */
export async function testMail(options: GlobalOptions & { readonly to: string }): Promise<ExitCode> {
  const { settings } = await tenantHere(options, { withoutSecret: true })
  try {
    const { isSent, outcome } = await sendTestMail(settings, toEmail(options.to))
    const [stream, words] = isSent ? [process.stdout, 'The server took the message'] : [process.stderr, 'Not sent']
    stream.write(`${words}: ${outcome}\n`)
    return isSent ? 0 : 1
  } catch (thrown) {
    if (!(thrown instanceof InvalidInput)) throw thrown
    warn('--to takes an address')
    return 2
  }
}
