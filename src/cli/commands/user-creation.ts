import { parseEmail } from '../../adapters/addresses/parse-email.ts'
import { InvalidInput } from '../../domain/refusal.ts'
import { givenPassword, requireTerminal } from '../given-password.ts'
import { type ExitCode, printed, remark, warn } from '../output.ts'
import { type GlobalOptions, type UsersHere, withUsers } from '../settings.ts'
import { documentOf, newRequestId, type OneUser, withUser } from './one-user.ts'

const by = { type: 'command' } as const

interface Options extends GlobalOptions {
  readonly address: string
  readonly passwordStdin?: true
  readonly invite?: true
  readonly verified?: true
}

/** Creates a user with a password, or invites one to choose it. */
export async function createUser(options: Options): Promise<ExitCode> {
  const { address, invite = false, passwordStdin = false, verified = false } = options
  const parsed = parseEmail(address)
  if ('objection' in parsed) return refuse(parsed.objection)
  if (invite && passwordStdin) return refuse('--invite and --password-stdin exclude each other')
  if (!invite && !passwordStdin) requireTerminal()
  const { email } = parsed
  return await withUsers(options, async (users) => {
    const password = invite ? undefined : await givenPassword(options)
    const requestId = newRequestId()
    try {
      const user = await users.createUser.execute({ by, email, password, invite, isVerified: verified, requestId })
      const what = invite ? 'created and invited' : 'created'
      await printed(options, `${what} ${user.email} (${user.id})`, documentOf(user))
      if (invite) remarkOnMail(users)
      return 0
    } catch (thrown) {
      if (thrown instanceof InvalidInput) return refuse(`the address ${thrown.problem}`)
      throw thrown
    }
  })
}

/** Sends a user without a password the link to choose one. */
export async function inviteUser(options: OneUser): Promise<ExitCode> {
  return await withUser(options, async ({ user, users, requestId }) => {
    await users.inviteUser.execute({ by, target: user, requestId })
    await printed(options, `invited ${user.email} (${user.id})`, documentOf(user))
    remarkOnMail(users)
    return 0
  })
}

function remarkOnMail({ sendsTokens }: UsersHere): void {
  if (sendsTokens) remark('The running service or worker sends the link, which works for seven days')
  else warn('mail.url is off, and there are no handlers in the settings: nobody gets the link')
}

function refuse(problem: string): ExitCode {
  warn(problem)
  return 2
}
