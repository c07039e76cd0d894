import { sentenceOf } from '../../application/explain/words.ts'
import { jsonId } from '../../domain/ids.ts'
import { type ExitCode, printed, warn } from '../output.ts'
import { withUsers } from '../settings.ts'
import { lineOfLimit, newRequestId, type OneUser, parsed, refuseUnknown } from './one-user.ts'

/** Prints why somebody cannot log in: the likely cause first, and then what it rests on. Nobody needs to have the address. */
export async function explainLogin(options: OneUser): Promise<ExitCode> {
  const wanted = parsed(options.who)
  if ('objection' in wanted) {
    warn(`give an address, or the id of a user. ${wanted.objection}`)
    return 2
  }
  return await withUsers(options, async (users) => {
    const email = 'email' in wanted ? wanted.email : (await users.users.find(wanted.id))?.email
    if (email === undefined) return refuseUnknown()
    const found = await users.explainLogin(email, newRequestId())
    const { user, canLogIn, causes, refusals, limits, deliveries, lastLoginAt } = found
    const lines = [
      ...causes.map(sentenceOf),
      `can log in: ${canLogIn ? 'yes' : 'no'}`,
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
      deliveries: deliveries.map(({ email: _, ...one }) => ({ ...one, userId: one.userId && jsonId(one.userId) })),
    }
    await printed(options, lines.join('\n'), document)
    return 0
  })
}

const inBrackets = (text: string | null): string => (text === null ? '' : ` (${text})`)
