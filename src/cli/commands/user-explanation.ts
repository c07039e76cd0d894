import { parseEmail } from '../../adapters/addresses/parse-email.ts'
import { sentenceOf } from '../../application/explain/words.ts'
import { jsonId } from '../../domain/ids.ts'
import { type ExitCode, printed, warn } from '../output.ts'
import { type GlobalOptions, withUsers } from '../settings.ts'
import { lineOfLimit, newRequestId } from './one-user.ts'

/** Prints why somebody with the address cannot log in: the likely cause first, and then what it rests on. */
export async function explainLogin(options: GlobalOptions & { readonly address: string }): Promise<ExitCode> {
  const parsed = parseEmail(options.address)
  if ('objection' in parsed) {
    warn(`give an address. ${parsed.objection}`)
    return 2
  }
  return await withUsers(options, async (users) => {
    const found = await users.explainLogin(parsed.email, newRequestId())
    const { user, causes, refusals, limits, deliveries, lastLoginAt } = found
    const lines = [
      ...causes.map(sentenceOf),
      ...(user === null ? [] : [`last login: ${lastLoginAt?.toISOString() ?? 'never'}`]),
      ...refusals.map(({ at, reason, detail }) => `refused: ${at.toISOString()} ${reason}${inBrackets(detail)}`),
      ...limits.map(lineOfLimit),
      ...deliveries.map(
        ({ state, type, at, reason }) => `${state}: ${type} of ${at.toISOString()}${inBrackets(reason)}`,
      ),
    ]
    const document = {
      ...found,
      user: user && { id: jsonId(user.id), email: user.email, isActive: user.isActive, isVerified: user.isVerified },
      causes: causes.map((cause) => ({ ...cause, text: sentenceOf(cause) })),
      deliveries: deliveries.map((one) => ({ ...one, userId: one.userId && jsonId(one.userId) })),
    }
    await printed(options, lines.join('\n'), document)
    return 0
  })
}

const inBrackets = (text: string | null): string => (text === null ? '' : ` (${text})`)
