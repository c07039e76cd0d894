import { parseEmail } from '../../adapters/addresses/parse-email.ts'
import { settingsFault } from '../../config/settings/schema/fault.ts'
import { InvalidInput, Refusal } from '../../domain/refusal.ts'
import { givenPassword, requireTerminal } from '../given-password.ts'
import { type ExitCode, printed, remark, warn } from '../output.ts'
import { type GlobalOptions, withUsers } from '../settings.ts'
import { documentOf, newRequestId, refuseUnknown, rowOf } from './one-user.ts'

const advice =
  'This superuser has no password: one that a stranger may have chosen is removed. To set one: user reset-link'

interface Options extends GlobalOptions {
  readonly email: string
  readonly passwordStdin?: true
  readonly promote?: true
}

/** Creates a superuser, or promotes a user, who has to exist. */
export async function createSuperuser(options: Options): Promise<ExitCode> {
  const parsed = parseEmail(options.email)
  if ('objection' in parsed) throw settingsFault('--email', parsed.objection)
  const { email } = parsed
  if (!options.promote && !options.passwordStdin) requireTerminal() // before a new store is created
  const by = { type: 'command' } as const
  const requestId = newRequestId()
  return await withUsers({ ...options, mustExist: options.promote === true }, async (users) => {
    if (options.promote) {
      const promoted = await users.promoteUser.execute({ email, requestId, by })
      if (promoted === null) return refuseUnknown()
      await printed(options, `${promoted.email} is a superuser now (${promoted.id})`, documentOf(promoted))
      if (options.passwordStdin) remark('The password on standard input was not used, because --promote sets none')
      if (promoted.passwordHash === null) remark(advice)
      return 0
    }
    const password = await givenPassword(options)
    try {
      const user = await users.createSuperuser.execute({ email, password, requestId, by })
      await printed(options, `created superuser ${user.email} (${user.id})`, documentOf(user))
      return 0
    } catch (thrown) {
      if (thrown instanceof InvalidInput) throw settingsFault('--email', thrown.problem)
      if (!(thrown instanceof Refusal && thrown.code === 'REGISTER_USER_ALREADY_EXISTS')) throw thrown
      warn(
        'this address has an account already: --promote makes it a superuser, and removes a password that somebody else may have chosen',
      )
      return 1
    }
  })
}

/** Prints every superuser, also those that are disabled. It reads all users. */
export async function listSuperusers(options: GlobalOptions): Promise<ExitCode> {
  return await withUsers(options, async ({ listUsers }) => {
    let count = 0
    for await (const user of listUsers.execute()) {
      if (!user.isSuperuser) continue
      count++
      await printed(options, rowOf(user), documentOf(user))
    }
    if (count === 0) remark('There are no superusers: superuser create makes one')
    return 0
  })
}
