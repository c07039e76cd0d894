import { randomUUID } from 'node:crypto'
import { parseEmail } from '../../adapters/addresses/parse-email.ts'
import type { LimitState } from '../../application/limits/read-limits.ts'
import { emailKey } from '../../domain/email.ts'
import { jsonId, parseUserId } from '../../domain/ids.ts'
import type { User } from '../../domain/user.ts'
import { unique } from '../../domain/user-record.ts'
import { type ExitCode, warn } from '../output.ts'
import { type GlobalOptions, type UsersHere, withUsers } from '../settings.ts'

/** The options of every command for one user. */
export interface OneUser extends GlobalOptions {
  /** The address or the id of the user. */
  readonly who: string
}

interface Found {
  readonly user: User
  readonly users: UsersHere
  readonly requestId: string
}

/** Finds the user for `work`. Exit code 1 if there is none. */
export async function withUser(
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
    const user = await ('id' in wanted ? store.find(wanted.id) : store.findBy(unique.email(emailKey(wanted.email))))
    if (user !== null) return await work({ user, users, requestId: newRequestId() })
    return refuseUnknown()
  })
}

/** Says that nobody has the address or the id. */
export function refuseUnknown(): ExitCode {
  warn('there is no such user: user list --search finds people by a part of the address or of a unique field')
  return 1
}

/** The request of a command, for its events. */
export function newRequestId(): string {
  return `cli-${randomUUID()}`
}

/** The address or the id that somebody has typed. */
export function parsed(who: string) {
  const id = parseUserId(who)
  return id === null ? parseEmail(who) : { id }
}

const groups = { strangers: 'all clients', devices: 'known browsers', client: 'this client' }

/** A limit as a line of text. */
export function lineOfLimit({ limit, of, purpose, points, most, isReached, until }: LimitState): string {
  const subject = purpose === null ? groups[of] : `${purpose}, ${groups[of]}`
  return `limit ${isReached ? 'reached' : 'used'}: ${limit} (${subject}) ${points} of ${most}, until ${until.toISOString()}`
}

/** A user as a row of a list. */
export function rowOf({ id, email, isActive, isVerified, isSuperuser, createdAt }: User): string {
  const flags = [
    isActive ? 'active' : 'disabled',
    isVerified ? 'verified' : 'unverified',
    ...(isSuperuser ? ['superuser'] : []),
  ]
  return [id, email, flags.join(','), createdAt.toISOString()].join('\t')
}

/** A user as `--json` prints it. */
export function documentOf({ id, email, isActive, isVerified, isSuperuser, passwordHash, createdAt, fields }: User) {
  const own = { ...fields.shown, ...fields.hidden }
  const document = {
    id: jsonId(id),
    email,
    isActive,
    isVerified,
    isSuperuser,
    hasPassword: passwordHash !== null,
    createdAt,
  }
  return Object.keys(own).length === 0 ? document : { ...document, fields: own }
}
