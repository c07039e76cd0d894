import { hash } from 'node:crypto'
import Type, { type Static } from 'typebox'
import { Check, Errors } from 'typebox/value'
import type { ArrivingEnd, ArrivingUser, UnreadableRecord } from '../../application/ports/user-source.ts'
import { parseJson } from '../../lib/json-text.ts'

/** The version of the format. A reader refuses a later one. */
export const formatVersion = 1

const time = Type.Refine(
  Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$' }),
  (text) => !Number.isNaN(Date.parse(text)), // a 13th month has the form, too
)
const orNull = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()])
const text = Type.String()
const flag = Type.Boolean()
const upTo = (maximum: number) => Type.Integer({ minimum: 0, maximum })
/** Milliseconds since 1970, before the year 10000. */
const milliseconds = upTo(253_402_300_799_999)
const count = upTo(2 ** 32 - 1)
/** Logins of a time, which `endSessions` raises. */
const generation = milliseconds

const header = Type.Object({
  type: Type.Literal('portcullis'),
  version: Type.Integer({ minimum: 1 }),
  sealedBy: text,
  hasHashes: flag,
  lastNumber: Type.Optional(upTo(Number.MAX_SAFE_INTEGER)),
})

const account = Type.Object({
  id: orNull(text),
  provider: text,
  accountId: text,
  accountEmail: text,
  vouchedEmail: orNull(text),
  accessToken: text,
  refreshToken: orNull(text),
  isSealed: flag,
  expiresAt: orNull(time),
})

const session = Type.Object({
  digest: Type.String({ pattern: '^[\\w-]{43}$' }),
  generation: orNull(generation),
  sid: text,
  provedAt: time,
  methods: Type.Array(text),
  createdAt: time,
  seenAt: time,
  idleSeconds: orNull(Type.Integer({ minimum: 1, maximum: 400 * 86_400 })),
  endsAt: time,
  network: orNull(text),
  browser: orNull(text),
  system: orNull(text),
})

const sealed = Type.String({ pattern: '^[\\w-]{1,1000}$' })

// Without a factor of a later release, the user would come with too few.
const factors = Type.Object(
  {
    totp: orNull(
      Type.Object({
        sealedSecret: sealed,
        lastStep: upTo(253_402_300_799 / 30),
        addedAt: milliseconds,
      }),
    ),
    passkeys: Type.Array(
      Type.Object({
        id: sealed,
        publicKey: sealed,
        counter: count,
        transports: Type.Array(text),
        rpId: text,
        name: text,
        addedAt: milliseconds,
      }),
      { maxItems: 100 },
    ),
    passkeyHandle: Type.Optional(sealed),
    recovery: orNull(Type.Object({ sealedKey: sealed, digests: Type.Array(sealed, { maxItems: 100 }) })),
    resetAt: orNull(milliseconds),
    isUnverified: Type.Optional(Type.Literal(true)),
  },
  { additionalProperties: false },
)

const user = Type.Object({
  type: Type.Literal('user'),
  id: text,
  email: text,
  passwordHash: orNull(text),
  isActive: flag,
  isSuperuser: flag,
  isVerified: flag,
  inactiveUntil: Type.Optional(orNull(time)),
  inactiveReason: Type.Optional(orNull(text)),
  isOwnerProved: flag,
  createdAt: orNull(time),
  lastLoginAt: orNull(time),
  factors,
  fields: Type.Record(text, Type.Union([text, Type.Number(), flag, Type.Array(text)])),
  accounts: Type.Array(account),
  sessions: Type.Array(session),
  credentials: orNull(Type.Object({ generation, keptSid: orNull(text), endedUntil: orNull(time) })),
  former: orNull(Type.Object({ hashText: orNull(text) })),
  imported: Type.Optional(Type.Object({ digest: text, isChanged: flag })),
})

const ended = Type.Object({ type: Type.Literal('ended'), id: text, until: time })

const end = Type.Object({ type: Type.Literal('end'), records: Type.Integer(), digest: text })

export type Header = Static<typeof header>
export type End = Static<typeof end>

export interface UnknownFormat {
  /** Words for the operator. */
  readonly objection: string
}

/** A line of the file without its newline. */
export function lineOf(record: ArrivingUser | ArrivingEnd | Header | End): string {
  return JSON.stringify(record)
}

/** SHA-256 in hexadecimal. */
export function digestOf(line: string | Buffer): string {
  return hash('sha256', line, 'hex')
}

export function parseHeader(line: string): Header | UnknownFormat {
  const parsed = parseJson(line)
  if (!('value' in parsed) || !Check(header, parsed.value)) return { objection: 'is no file of `users export`' }
  if (parsed.value.version <= formatVersion) return parsed.value
  return { objection: `has format ${parsed.value.version}, of a later release: this one reads ${formatVersion}` }
}

/** A line behind the first. */
export function parseLine(line: string): ArrivingUser | ArrivingEnd | End | UnreadableRecord {
  const parsed = parseJson(line)
  if (!('value' in parsed)) return unreadable(null, 'the line is no JSON')
  const { value } = parsed
  if (Check(end, value)) return value
  if (Check(ended, value)) return { ...value, until: new Date(value.until) }
  if (Check(user, value)) return withLacks(userOf(value), Object.keys(value))
  const { id, type } = Object(value)
  const kind = typeof type === 'string' ? `a record ${JSON.stringify(type)}` : 'a record'
  const [place] = type === 'user' ? Errors(user, value).map(({ instancePath }) => instancePath.slice(1)) : []
  const part = place ? `, because of its ${place.replaceAll('/', '.')}` : ''
  return unreadable(typeof id === 'string' ? id : null, `the line is ${kind} that this release cannot read${part}`)
}

function userOf({
  createdAt,
  inactiveUntil = null,
  lastLoginAt,
  accounts,
  sessions,
  credentials,
  ...others
}: Static<typeof user>): ArrivingUser {
  return {
    ...others,
    createdAt: dateOr(createdAt),
    inactiveUntil: dateOr(inactiveUntil),
    lastLoginAt: dateOr(lastLoginAt),
    accounts: accounts.map((one) => ({ ...one, expiresAt: dateOr(one.expiresAt) })),
    sessions: sessions.map((one) => ({
      ...one,
      provedAt: new Date(one.provedAt),
      createdAt: new Date(one.createdAt),
      seenAt: new Date(one.seenAt),
      endsAt: new Date(one.endsAt),
    })),
    credentials: credentials === null ? null : { ...credentials, endedUntil: dateOr(credentials.endedUntil) },
  }
}

/** A later release may write members that this one does not know. */
function withLacks(read: ArrivingUser, names: readonly string[]): ArrivingUser {
  const unknown = names.filter((name) => !Object.hasOwn(user.properties, name))
  return unknown.length === 0
    ? read
    : { ...read, lacks: [`lacks ${unknown.join(', ')}: this release does not know it`] }
}

function dateOr(written: string | null): Date | null {
  return written === null ? null : new Date(written)
}

function unreadable(id: string | null, reason: string): UnreadableRecord {
  return { type: 'unreadable', id, reason }
}
