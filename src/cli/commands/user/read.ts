import { parseUserId } from '../../../domain/ids.ts'
import type { User } from '../../../domain/user.ts'
import { type ExitCode, printed, warn } from '../../output.ts'
import { type GlobalOptions, withUsers } from '../../settings.ts'
import { type OneUser, withUser } from './with-user.ts'

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
