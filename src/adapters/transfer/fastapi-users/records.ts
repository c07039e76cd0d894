import { createHash } from 'node:crypto'
import type {
  ArrivingAccount,
  ArrivingSession,
  ArrivingUser,
  UnreadableRecord,
} from '../../../application/ports/user-source.ts'
import { isUserId, parseUserId } from '../../../domain/ids.ts'
import { unknownTraits } from '../../../domain/session.ts'
import type { FastapiUsersOptions } from './options.ts'
import type { RedisSession } from './redis-sessions.ts'
import { maxLinks, type SourceRow, type Values } from './source-rows.ts'

type Needs = Pick<FastapiUsersOptions, 'lifetimeSeconds' | 'distrustVerified' | 'now'>

interface Read {
  readonly record: ArrivingUser | UnreadableRecord
  readonly digest: string
}

/** Further reasons for one record say nothing new. */
const maxReasons = 10
/** Nobody is logged in for longer after the move. */
const longestSeconds = 90 * 86_400
/** By this form alone a stored login is recognised. */
const tokenShape = /^[\w-]{43}$/

/** A column has a value of a kind that is not expected. */
class Misfit extends Error {}

/** The user in a row of the source. */
export function recordOf(row: SourceRow, inRedis: readonly RedisSession[], needs: Needs): Read {
  const id = idOf(row)
  const reasons: string[] = row.fault === null ? [] : [row.fault]
  const user = row.fault === null ? attempt(() => userOf(id, row.user, row.fields, needs), reasons) : null
  if (user === null) {
    const record = unreadable(id, reasons)
    return { record, digest: digestOfJson([id, row.user.email, ...reasons]) }
  }
  const { accounts, sessions, lost } = belongings(row, inRedis, user, needs)
  const record: ArrivingUser = { ...user, accounts, sessions }
  // Each import brings new logins anyway. With them, the digest would change when one of them ends.
  const digest = digestOfJson({ ...record, sessions: [] })
  return { record: { ...record, lacks: lost.slice(0, maxReasons) }, digest }
}

/** The id as users write it: a UUID with its dashes, in small letters. */
export function idOf({ key }: Pick<SourceRow, 'key'>): string {
  return parseUserId(key) ?? key
}

function userOf(id: string, row: Values, fields: Values, { distrustVerified = false }: Needs) {
  const email = text(row, 'email')
  if (email.includes('\uFFFD')) throw new Misfit('email is no valid UTF-8')
  const isVerified = flag(row, 'is_verified')
  const hash = textOrNull(row, 'hashed_password') || null
  return {
    type: 'user' as const,
    id,
    email,
    passwordHash: hash,
    isActive: flag(row, 'is_active', true),
    isSuperuser: flag(row, 'is_superuser'),
    isVerified,
    isOwnerProved: isVerified && !distrustVerified,
    createdAt: 'created_at' in row ? timeOf(row.created_at) : null,
    lastLoginAt: null,
    factors: null,
    fields: Object.fromEntries(
      Object.entries(fields)
        .sort()
        .map(([name, value]) => [name, fieldOf(value)]),
    ),
    accounts: [],
    sessions: [],
    credentials: null,
    former: { hashText: hash },
  }
}

function belongings(row: SourceRow, inRedis: readonly RedisSession[], user: ArrivingUser, needs: Needs) {
  const lost: string[] = []
  const accounts = new Map<string, ArrivingAccount>()
  if (row.links.length > maxLinks) lost.push(`more than ${maxLinks} linked accounts: the others are left out`)
  for (const link of row.links.slice(0, maxLinks)) {
    const account = attempt(() => accountOf(link, user.isVerified), lost, 'a linked account: ')
    if (account === null) continue
    // An account that was linked again is there twice, and the former system updates both.
    accounts.set(JSON.stringify([account.provider, account.accountId]), account)
  }
  const stored = row.tokens.map((token) => attempt(() => storedSession(token, needs), lost, 'a stored login: '))
  const held = inRedis.map((one) => attempt(() => redisSession(one, needs), lost, 'a login in Redis: '))
  return {
    accounts: [...accounts.values()],
    sessions: [...stored, ...held].filter((session) => session !== null),
    lost: [...new Set(lost)],
  }
}

function accountOf(link: Values, isVerified: boolean): ArrivingAccount {
  if (link.large === true) throw new Misfit('it is too large')
  const accountEmail = text(link, 'account_email')
  const id = parseUserId(String(link.id ?? ''))
  const expires = link.expires_at
  return {
    id: id?.includes('-') ? id : null,
    provider: text(link, 'oauth_name'),
    accountId: text(link, 'account_id'),
    accountEmail,
    vouchedEmail: isVerified ? accountEmail : null,
    accessToken: text(link, 'access_token'),
    refreshToken: textOrNull(link, 'refresh_token'),
    isSealed: false,
    expiresAt: typeof expires === 'number' ? validOrNull(new Date(expires * 1000)) : null,
  }
}

/** A row of the table of tokens; `null` if it has ended. */
function storedSession(row: Values, { lifetimeSeconds = null, now }: Needs): ArrivingSession | null {
  const created = timeOf(row.created_at)
  if (created === null) throw new Misfit('created_at is no time')
  const endsAt = lifetimeSeconds === null ? null : created.getTime() + lifetimeSeconds * 1000
  return sessionOf(text(row, 'token'), created, endsAt, now)
}

function redisSession(
  { token, endsInSeconds }: RedisSession,
  { now, lifetimeSeconds = null }: Needs,
): ArrivingSession | null {
  const endsAt = endsInSeconds === null ? null : now.getTime() + endsInSeconds * 1000
  const isKnown = endsAt !== null && lifetimeSeconds !== null
  return sessionOf(token, isKnown ? new Date(endsAt - lifetimeSeconds * 1000) : now, endsAt, now)
}

function sessionOf(token: string, created: Date, endsAt: number | null, now: Date): ArrivingSession | null {
  if (!tokenShape.test(token)) throw new Misfit('its token is not of fastapi-users')
  if (endsAt !== null && endsAt <= now.getTime()) return null
  const digest = createHash('sha256').update(token).digest('base64url')
  const at = created < now ? created : now
  return {
    ...unknownTraits,
    digest,
    sid: digest,
    generation: null,
    provedAt: at,
    methods: [],
    createdAt: at,
    seenAt: at,
    idleSeconds: null,
    endsAt: new Date(Math.min(endsAt ?? Number.POSITIVE_INFINITY, latestEnd(null, now).getTime())),
  }
}

/** The end of a stored login that begins now. */
export function latestEnd(lifetimeSeconds: number | null, now: Date): Date {
  return new Date(now.getTime() + Math.min(lifetimeSeconds ?? longestSeconds, longestSeconds) * 1000)
}

/** SHA-256 of the JSON of `value`, in hexadecimal. */
export function digestOfJson(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex')
}

function attempt<T>(read: () => T, reasons: string[], before = ''): T | null {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof Misfit)) throw error
    reasons.push(`${before}${error.message}`)
    return null
  }
}

function unreadable(id: string, reasons: readonly string[]): UnreadableRecord {
  return { type: 'unreadable', id: isUserId(id) ? id : null, reason: reasons.slice(0, maxReasons).join('; ') }
}

function text(row: Values, name: string): string {
  const value = row[name]
  if (typeof value !== 'string') throw new Misfit(`${name} is ${kindOf(value)} and no text`)
  return value
}

function textOrNull(row: Values, name: string): string | null {
  return row[name] === null || row[name] === undefined ? null : text(row, name)
}

/** NULL is false, as in the application. A document may lack a field that the application has added later. */
function flag(row: Values, name: string, ifAbsent = false): boolean {
  const value = row[name]
  if (value === undefined) return ifAbsent
  if (value === null) return false
  if (value === true || value === 1) return true
  if (value === false || value === 0) return false
  throw new Misfit(`${name} is ${kindOf(value)} and neither true nor false`)
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return 'NULL'
  return Buffer.isBuffer(value) ? 'a blob' : `a ${typeof value}`
}

/** A time; a text without a zone is UTC. `null` if it is none. */
function timeOf(value: unknown): Date | null {
  if (value instanceof Date) return validOrNull(value)
  if (typeof value !== 'string') return null
  const [, day, time, zone] = /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d(?:\.\d+)?)(Z|[+-]\d\d:\d\d)?$/.exec(value) ?? []
  return validOrNull(new Date(`${day}T${time}${zone ?? 'Z'}`))
}

/** Our texts of a time have four digits for the year. */
function validOrNull(time: Date): Date | null {
  return time.getUTCFullYear() >= 0 && time.getUTCFullYear() < 10_000 ? time : null
}

/** The value of an own field. The type of the field decides later whether it fits. A store without days has them as midnights. */
function fieldOf(value: unknown): unknown {
  if (value instanceof Date) return validOrNull(value)?.toISOString().replace('T00:00:00.000Z', '') ?? null
  if (Buffer.isBuffer(value)) return value.toString('base64')
  return value ?? null
}
