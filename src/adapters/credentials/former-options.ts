import Type from 'typebox'

const secretOf = (what: string, name: string) =>
  Type.Optional(
    Type.String({
      secret: true,
      minLength: 1,
      expects: 'the secret that fastapi-users signs with',
      otherwise: 'none',
      description: `${what} that fastapi-users has signed go on until \`compat.until\`: its ${name}.`,
    }),
  )

/** The settings of `withFormerLogins` and `formerLinks`. */
export const formerOptions = {
  until: Type.Optional(
    Type.String({
      pattern: '^\\d{4}-\\d{2}-\\d{2}$',
      expects: 'a date like 2026-12-31',
      otherwise: '30 days after the first start with one of the secrets',
      description:
        'The last day, in UTC, on which logins and links of fastapi-users go on for imported users. At most 90 days ahead.',
    }),
  ),
  jwtSecret: secretOf('JWTs', '`secret` of `JWTStrategy`'),
  jwtAudiences: Type.Array(Type.String({ minLength: 1, expects: 'a text' }), {
    minItems: 1,
    default: ['fastapi-users:auth'],
    description: 'The `token_audience` of `JWTStrategy`. The service accepts JWTs for one of them.',
  }),
  resetSecret: secretOf('Open reset links', '`reset_password_token_secret`'),
  verificationSecret: secretOf('Open verification links', '`verification_token_secret`'),
}

export interface FormerSettings {
  readonly until?: string | undefined
  readonly jwtSecret?: string | undefined
  readonly resetSecret?: string | undefined
  readonly verificationSecret?: string | undefined
}

const secrets = ['jwtSecret', 'resetSecret', 'verificationSecret'] as const
const mostDays = 90
const usualDays = 30
const dayMs = 86_400_000
/** Of a secret that nobody guesses. The documents of fastapi-users have `SECRET`. */
const leastLength = 16

/** The end of this day. `null`: there is no such day. */
export function endOf(day: string): Date | null {
  const begin = new Date(`${day}T00:00:00Z`)
  const isDay = !Number.isNaN(begin.getTime()) && begin.toISOString().startsWith(day)
  return isDay ? new Date(begin.getTime() + dayMs) : null
}

/** The usual end, without `compat.until`. */
export function usualEnd(firstDay: string): Date | null {
  const begin = endOf(firstDay)
  return begin && new Date(begin.getTime() + usualDays * dayMs)
}

export function hasSecrets(settings: FormerSettings): boolean {
  return givenOf(settings).length > 0
}

/** The faults of these settings, by option. */
export function* objectionsToFormer({ until }: FormerSettings, now: Date): Generator<readonly [string, string]> {
  if (until === undefined) return
  const end = endOf(until)
  if (end === null) yield ['until', 'is no day of the calendar']
  else if (end.getTime() > now.getTime() + (mostDays + 1) * dayMs)
    yield ['until', `must be within the next ${mostDays} days`]
}

/** Warnings about secrets that no longer count, or that somebody may guess. */
export function doubtsOfFormer(settings: FormerSettings, now: Date): string[] {
  const { until } = settings
  const end = until === undefined ? null : endOf(until)
  if (end !== null && end <= now) return [`compat.until has passed: remove ${named(['until', ...givenOf(settings)])}`]
  const short = secrets.filter((name) => (settings[name]?.length ?? leastLength) < leastLength)
  if (short.length === 0) return []
  return [
    `${named(short)}: short, so somebody may guess it and act as each imported user. Leave it out, or choose an early compat.until`,
  ]
}

/**
 * A sentence for operators about an end that no setting names; `null` if there is none.
 *
 * @param end `null` before the first start
 */
export function usualEndInWords(
  settings: FormerSettings,
  end: Date | null,
  now: Date,
): { readonly isOver: boolean; readonly text: string } | null {
  if (settings.until !== undefined || !hasSecrets(settings)) return null
  const theirs = 'logins and links of fastapi-users'
  if (end === null) return { isOver: false, text: `${theirs} go on for ${usualDays} days from the first start` }
  const day = new Date(end.getTime() - 1).toISOString().slice(0, 10)
  if (now < end) return { isOver: false, text: `${theirs} go on until ${day}` }
  return { isOver: true, text: `${theirs} have ended on ${day}: remove ${named(givenOf(settings))}` }
}

function givenOf(settings: FormerSettings): readonly (typeof secrets)[number][] {
  return secrets.filter((name) => settings[name] !== undefined)
}

const named = (names: readonly string[]): string => names.map((name) => `compat.${name}`).join(', ')
