import { isIP } from 'node:net'
import type { LimitState } from '../../application/limits/read-limits.ts'
import type { SessionView } from '../../application/sign-in/list-sessions.ts'
import { SettingsFault } from '../../config/settings/schema/fault.ts'
import { jsonId, parseUserId } from '../../domain/ids.ts'
import { Unavailable } from '../../domain/refusal.ts'
import type { User } from '../../domain/user.ts'
import { columns, type ExitCode, printed, printedRows, remark, warn } from '../output.ts'
import { type GlobalOptions, withUsers } from '../settings.ts'
import { documentOf, lineOfLimit, type OneUser, rowOf, withUser } from './one-user.ts'

const by = { type: 'command' } as const

/** Prints a user, one field in each line, with the last login, linked accounts, stored sessions and the state of the limits. */
export async function showUser({ client, ...options }: OneUser & { readonly client?: string }): Promise<ExitCode> {
  if (client !== undefined && isIP(client) === 0) {
    warn('--client takes an IPv4 or IPv6 address')
    return 2
  }
  return await withUser(options, async ({ user, users, requestId }) => {
    await users.lookUpUser.execute({ by, target: user, requestId })
    const lastLoginAt = await users.loginTimes.lastLogin(user.id)
    const sessions = await orUnknown(users.sessionsOf(user))
    const limits = await orUnknown(users.limitsOf(user, client ?? null))
    const accounts = user.oauthAccounts.map(({ provider, accountEmail: email }) => ({ provider, email }))
    const lines = [
      ...fieldsOf(user),
      `last login: ${lastLoginAt?.toISOString() ?? 'never'}`,
      ...accounts.map(({ provider, email }) => `account: ${provider} ${email}`),
      ...('unknown' in sessions ? [`sessions: unknown, because ${sessions.unknown}`] : linesOfSessions(sessions)),
      ...('unknown' in limits ? [`limits: unknown, because ${limits.unknown}`] : linesOfLimits(limits)),
    ]
    const document = {
      ...documentOf(user),
      inactiveUntil: user.inactiveUntil,
      inactiveReason: user.inactiveReason,
      lastLoginAt,
      accounts,
      sessions: 'unknown' in sessions ? null : sessions.map(documentOfSession),
      limits: 'unknown' in limits ? null : limits,
    }
    await printed(options, lines.join('\n'), document)
    return 0
  })
}

/**
 * Prints everything that is stored about a user as one JSON document, for a person who asks for the own data (GDPR article 15). It has
 * private fields and values of fields that are no longer declared, but no hash, no token and no secret.
 */
export async function exportUser(options: OneUser): Promise<ExitCode> {
  return await withUser(options, async ({ user, users, requestId }) => {
    await users.lookUpUser.execute({ by, target: user, requestId })
    const whole = await orUnknown(users.exportUser(user))
    if ('unknown' in whole) warn(`the sessions are missing, because ${whole.unknown}`)
    const found = 'unknown' in whole ? await users.exportUser(user, { hasSessions: false }) : whole
    const accounts = found.accounts.map(({ provider, accountId, accountEmail: email, vouchedEmail, expiresAt }) => {
      return { provider, accountId, email, vouchedEmail, expiresAt }
    })
    const sessions = found.sessions?.map(documentOfSession) ?? null
    await printed({ json: true }, '', { ...found, id: jsonId(found.id), accounts, sessions })
    return sessions === null ? 1 : 0
  })
}

interface Unknown {
  /** The reason, worded to follow `because`. */
  readonly unknown: string
}

/** The user is shown also if the store of the sessions does not answer, or cannot be reached from here. */
async function orUnknown<T extends object>(read: Promise<T>): Promise<T | Unknown> {
  try {
    return await read
  } catch (thrown) {
    if (thrown instanceof SettingsFault) {
      return { unknown: thrown.faults.map(({ path, message }) => `${path} ${message}`).join(', ') }
    }
    if (thrown instanceof Unavailable) return { unknown: thrown.message }
    throw thrown
  }
}

function fieldsOf(user: User): string[] {
  const { id, email, isActive, isVerified, isSuperuser, hasPassword, createdAt } = documentOf(user)
  const { shown, hidden } = user.fields
  return [
    `id: ${id}`,
    `email: ${email}`,
    `active: ${yes(isActive)}`,
    ...linesOfDeactivation(user),
    `verified: ${yes(isVerified)}`,
    `superuser: ${yes(isSuperuser)}`,
    `password: ${yes(hasPassword)}`,
    `created: ${createdAt.toISOString()}`,
    ...linesOfFactors(user),
    ...Object.entries({ ...shown, ...hidden }).map(([name, value]) => `field ${name}: ${JSON.stringify(value)}`),
  ]
}

function linesOfDeactivation({ inactiveUntil, inactiveReason }: User): string[] {
  return [
    ...(inactiveUntil === null ? [] : [`inactive until: ${inactiveUntil.toISOString()}`]),
    ...(inactiveReason === null ? [] : [`reason: ${JSON.stringify(inactiveReason)}`]),
  ]
}

function linesOfFactors({ factors: { totp, passkeys, recovery, resetAt } }: User): string[] {
  const since = (at: number): string => new Date(at).toISOString()
  const all = [
    ...(totp === null ? [] : [`authenticator app since ${since(totp.addedAt)}`]),
    ...passkeys.map(({ name, addedAt }) => `passkey ${JSON.stringify(name)} since ${since(addedAt)}`),
  ]
  if (all.length === 0) return []
  const reset = resetAt === null ? [] : [`the second factors will be removed at ${since(resetAt)}`]
  return [...all.map((one) => `second factor: ${one}`), `recovery codes: ${recovery?.digests.length ?? 0}`, ...reset]
}

const yes = (is: boolean): string => (is ? 'yes' : 'no')

function linesOfSessions(sessions: readonly SessionView[]): string[] {
  if (sessions.length === 0) return ['sessions: none is stored']
  return sessions.map((session) => {
    const { createdAt, usedAt } = session
    return `session: ${deviceOf(session)}, since ${createdAt.toISOString()}, last used ${usedAt.toISOString()}`
  })
}

function deviceOf({ browser, system, network }: SessionView): string {
  return [browser, system, network].filter((part) => part !== null).join(', ') || 'unknown browser'
}

function linesOfLimits(limits: readonly LimitState[]): readonly string[] {
  return limits.length === 0 ? ['limits: none is used'] : limits.map(lineOfLimit)
}

/** Prints the stored sessions of a user, the newest first. */
export async function listSessions(options: OneUser): Promise<ExitCode> {
  return await withUser(options, async ({ user, users, requestId }) => {
    await users.lookUpUser.execute({ by, target: user, requestId })
    const sessions = await users.sessionsOf(user)
    if (sessions.length === 0) remark('There are no stored sessions. JWTs are not stored')
    else await printedRows(options, columns([titles, ...sessions.map(cellsOf)]), sessions.map(documentOfSession))
    return 0
  })
}

const titles = ['SIGNED IN', 'LAST USED', 'BROWSER', 'SYSTEM', 'NETWORK']

function cellsOf({ createdAt, usedAt, browser, system, network }: SessionView): readonly string[] {
  return [createdAt.toISOString(), usedAt.toISOString(), browser ?? '-', system ?? '-', network ?? '-']
}

function documentOfSession({ id, createdAt, usedAt, browser, system, network }: SessionView) {
  return { id, createdAt, usedAt, browser, system, network }
}

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
        remark(`There are more: --after ${last.id}`)
        return 0
      }
      const isRead = await printed(options, rowOf(user), documentOf(user))
      if (!isRead) return 0
      count++
      last = user
    }
    if (count === 0) remark('There are no such users')
    return 0
  })
}
