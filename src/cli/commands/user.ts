import { randomUUID } from 'node:crypto'
import { parseEmail } from '../../adapters/addresses/parse-email.ts'
import { emailKey } from '../../domain/email.ts'
import { parseUserId } from '../../domain/ids.ts'
import type { User } from '../../domain/user.ts'
import { type ExitCode, printed, warn } from '../output.ts'
import { type GlobalOptions, type UsersHere, withUsers } from '../settings.ts'

/** The options of every command for one user. */
interface OneUser extends GlobalOptions {
  /** The address or the id of the user. */
  readonly who: string
}

/** The options of a command that may take away the rights of a superuser. */
interface Forcible extends OneUser {
  /** Also those of the last active one. */
  readonly force?: true
}

interface Found {
  readonly user: User
  readonly users: UsersHere
  readonly requestId: string
}

/** Prints a user, one field in each line. */
export async function showUser(options: OneUser): Promise<ExitCode> {
  return await withUser(options, async ({ user }) => {
    const { id, email, passwordHash, oauthAccounts, createdAt } = user
    const fields = {
      id,
      email,
      active: yes(user.isActive),
      verified: yes(user.isVerified),
      superuser: yes(user.isSuperuser),
      password: yes(passwordHash !== null),
      created: createdAt.toISOString(),
    }
    for (const [name, value] of Object.entries(fields)) process.stdout.write(`${name}: ${value}\n`)
    for (const { provider, accountEmail } of oauthAccounts)
      process.stdout.write(`account: ${provider} ${accountEmail}\n`)
    return 0
  })
}

const yes = (is: boolean): string => (is ? 'yes' : 'no')

interface ListOptions extends GlobalOptions {
  readonly search?: string
  readonly after?: string
  readonly limit: string
}

/** Prints users, the oldest first, each in a line: id, address, flags, time of creation. */
export async function listUsers({ search = '', after, limit: given, ...options }: ListOptions): Promise<ExitCode> {
  const limit = Number(given)
  const start = after === undefined ? null : parseUserId(after)
  if (!Number.isInteger(limit) || limit < 1 || (after !== undefined && start === null)) {
    warn('--limit takes a whole number from 1, and --after the id of a user')
    return 2
  }
  return await withUsers(options, async ({ listUsers }) => {
    let count = 0
    let last: User | null = null
    for await (const user of listUsers.execute({ search, after: start })) {
      if (count === limit && last !== null) {
        process.stderr.write(`There are more: --after ${last.id}\n`)
        return 0
      }
      const isRead = await printed(`${lineOf(user)}\n`)
      if (!isRead) return 0
      count++
      last = user
    }
    if (count === 0) process.stderr.write('There are no such users\n')
    return 0
  })
}

function lineOf({ id, email, isActive, isVerified, isSuperuser, createdAt }: User): string {
  const flags = [
    isActive ? 'active' : 'disabled',
    isVerified ? 'verified' : 'unverified',
    ...(isSuperuser ? ['superuser'] : []),
  ]
  return [id, email, flags.join(','), createdAt.toISOString()].join('\t')
}

/** Disables or enables a user. Disabling ends all sessions. */
export async function setActive(options: Forcible & { readonly isActive: boolean }): Promise<ExitCode> {
  return await withUser(options, async ({ user: target, users, requestId }) => {
    const { isActive, force: isForced = false } = options
    const { id, email } = await users.changeAccount.execute({
      by: { type: 'command' },
      target,
      changes: { isActive },
      isForced,
      requestId,
    })
    process.stderr.write(`${email} is ${isActive ? 'active' : 'disabled'} now (${id})\n`)
    return 0
  })
}

/** Deletes a user, unless a handler of the deployer objects. */
export async function deleteUser(options: Forcible): Promise<ExitCode> {
  return await withUser(options, async ({ user: target, users, requestId }) => {
    await users.deleteUser({ target, requestId, isForced: options.force === true }, warn)
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
    if (users.isUrlGuessed && link.startsWith(users.publicUrl)) {
      warn(`http.publicUrl is not set, so the link leads to ${users.publicUrl}`)
    }
    process.stderr.write(
      `Works once, until ${expiresAt.toISOString()}. It gives the account to anybody who has it: show it to ${user.email} only\n`,
    )
    return 0
  })
}

/** Finds the user for `work`. Exit code 1 if there is none. */
async function withUser(
  options: OneUser & { readonly withoutSecret?: boolean },
  work: (found: Found) => Promise<ExitCode>,
): Promise<ExitCode> {
  const wanted = parsed(options.who)
  if ('objection' in wanted) {
    warn(`give the address or the id of a user. ${wanted.objection}`)
    return 2
  }
  return await withUsers(options, async (users) => {
    const store = users.users
    const user = await ('id' in wanted ? store.find(wanted.id) : store.findByEmail(emailKey(wanted.email)))
    if (user !== null) return await work({ user, users, requestId: `cli-${randomUUID()}` })
    warn('there is no such user')
    return 1
  })
}

function parsed(who: string) {
  const id = parseUserId(who)
  return id === null ? parseEmail(who) : { id }
}
