import { type ExitCode, warn } from '../../output.ts'
import { type OneUser, withUser } from './with-user.ts'

/** Disables or enables a user. Disabling ends all sessions. */
export async function setActive(options: OneUser & { readonly isActive: boolean }): Promise<ExitCode> {
  return await withUser(options, async ({ user: target, users, requestId }) => {
    const { isActive } = options
    const { id, email } = await users.updateUser.any({ by: 'program', target, changes: { isActive }, requestId })
    process.stderr.write(`${email} is ${isActive ? 'active' : 'disabled'} now (${id})\n`)
    return 0
  })
}

/** Deletes a user, unless a handler of the deployer objects. */
export async function deleteUser(options: OneUser): Promise<ExitCode> {
  return await withUser(options, async ({ user: target, users, requestId }) => {
    await users.deleteUser({ target, requestId }, warn)
    process.stderr.write(`deleted ${target.email} (${target.id})\n`)
    return 0
  })
}

/** Prints a link with which the user can set a new password. */
export async function printResetLink(options: OneUser): Promise<ExitCode> {
  return await withUser({ ...options, withoutSecret: false }, async ({ user, users }) => {
    const issued = await users.resetLink(user, users.publicUrl)
    if (issued === null) {
      warn(`${user.email} is disabled: enable the account first`)
      return 1
    }
    const { link, expiresAt } = issued
    process.stdout.write(`${link}\n`)
    process.stderr.write(
      `Works once, until ${expiresAt.toISOString()}. It gives the account to anybody who has it: show it to ${user.email} only\n`,
    )
    return 0
  })
}
