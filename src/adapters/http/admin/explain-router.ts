import { type TSchema, Type } from 'typebox'
import type { ReadUser } from '../../../application/accounts/read-user.ts'
import { causeCodes } from '../../../application/explain/causes.ts'
import type { ExplainLogin } from '../../../application/explain/explain-login.ts'
import type { LoginExplanation } from '../../../application/explain/explanation.ts'
import type { ReadDetails, UserDetails } from '../../../application/explain/read-details.ts'
import { sentenceOf } from '../../../application/explain/words.ts'
import type { LimitState } from '../../../application/limits/read-limits.ts'
import { isInvitable, tokenPurposes } from '../../../domain/one-time-token.ts'
import { type RefusedLogin, refusedReasons } from '../../../domain/refused-login.ts'
import type { User } from '../../../domain/user.ts'
import { endpoint, type Router } from '../endpoint.ts'
import { Invalid } from '../errors.ts'
import { target } from '../routers/sessions.ts'
import { routes } from '../routes.ts'
import {
  AccountsSchema,
  accountBody,
  EmailBody,
  parseAddress,
  SessionsSchema,
  sessionBody,
  UserSchema,
  userBody,
} from '../schemas.ts'
import { DeliverySchema, deliveryBody, nullable } from './delivery-body.ts'

interface Use {
  readUser: ReadUser
  readDetails: ReadDetails
  explainLogin: ExplainLogin
}

const at = Type.String({ format: 'date-time' })
const list = <Item extends TSchema>(item: Item, description: string) => Type.Array(item, { description })

const LimitSchema = Type.Object({
  limit: Type.String({ description: 'The setting in `limits`' }),
  of: Type.Enum(['strangers', 'devices', 'client'], { description: 'Whose requests it counts' }),
  purpose: nullable('string', 'Of the tokens that it counts; null for other limits'),
  points: Type.Integer(),
  most: Type.Integer(),
  is_reached: Type.Boolean(),
  until: at,
})

const limitBody = ({ limit, of, purpose, points, most, isReached, until }: LimitState) => {
  return { limit, of, purpose, points, most, is_reached: isReached, until: until.toISOString() }
}

const RefusedSchema = list(
  Type.Object({
    at,
    reason: Type.Enum([...refusedReasons]),
    detail: nullable('string', 'The limit, method or provider'),
  }),
  'The last refused logins of a day, at most 20, the latest first; for an address without a user, too',
)

const explained = {
  last_login: nullable('string', 'null if none was recorded'),
  can_log_in: Type.Boolean({ description: 'Whether nothing stands in the way of a login with the right proofs now' }),
  causes: list(
    Type.Object({
      code: Type.Enum([...causeCodes]),
      text: Type.String({ description: 'In English: what happened, and what to do' }),
      detail: nullable('string', 'The reason of a deactivation or a mail server, the limit, or the provider'),
      until: nullable('string', 'When it ends by itself'),
      count: Type.Integer({ description: 'The refused logins of this kind in the last day' }),
    }),
    'The likely causes, the likeliest first; at least one',
  ),
  refused_logins: RefusedSchema,
  limits: list(LimitSchema, 'The limits that have counted requests for the address'),
  deliveries: list(DeliverySchema, 'Mail and events that wait or were given up'),
  has_all_deliveries: Type.Boolean({ description: 'false if so much waits that only 1000 of a kind were looked at' }),
}

/** @param user the schema of a user, with the fields that the deployer declares */
export const explanationSchemaOf = <Own extends TSchema>(user: Own) =>
  Type.Object(
    { user: Type.Union([user, Type.Null()], { description: 'null if nobody has the address' }), ...explained },
    { title: 'LoginExplanation', additionalProperties: false },
  )

export const ExplanationSchema = explanationSchemaOf(UserSchema)

const more = {
  created_at: at,
  has_password: Type.Boolean(),
  deactivation: Type.Union(
    [
      Type.Object({ reason: nullable('string', 'For superusers'), until: nullable('string', 'null: for good') }),
      Type.Null(),
    ],
    { description: 'null for an active user' },
  ),
  is_invitable: Type.Boolean({ description: 'The user has no password, so an invitation can be sent' }),
  sessions: SessionsSchema,
  oauth_accounts: AccountsSchema,
  factors: Type.Object({
    totp: Type.Union([Type.Object({ added_at: at }), Type.Null()]),
    passkeys: Type.Array(Type.Object({ name: Type.String(), added_at: at, domain: Type.String() })),
    recovery_codes: Type.Integer({ description: 'The unused ones' }),
    reset_at: nullable('string', 'When the factors go; null if no reset runs'),
  }),
  tokens: list(
    Type.Object({ purpose: Type.Enum([...tokenPurposes]), expires_at: at }),
    'The links that work now, without their tokens',
  ),
}

/** @param user as for an explanation */
export const detailsSchemaOf = <Own extends TSchema>(user: Own) =>
  Type.Object({ user, ...explained, ...more }, { title: 'UserDetails', additionalProperties: false })

export const DetailsSchema = detailsSchemaOf(UserSchema)

function explanationBody(
  { user, lastLoginAt, canLogIn, causes, refusals, limits, deliveries, isComplete }: LoginExplanation,
  viewer: User,
) {
  return {
    user: user && userBody(user, viewer),
    last_login: lastLoginAt?.toISOString() ?? null,
    can_log_in: canLogIn,
    causes: causes.map((cause) => {
      const { code, detail, until, count } = cause
      return { code, text: sentenceOf(cause), detail, until: until?.toISOString() ?? null, count }
    }),
    refused_logins: refusals.map(refusalBody),
    limits: limits.map(limitBody),
    deliveries: deliveries.map(deliveryBody),
    has_all_deliveries: isComplete,
  }
}

function detailsBody(details: UserDetails, viewer: User) {
  const { user, sessions, links } = details
  const { totp, passkeys, recovery, resetAt } = user.factors
  const time = (milliseconds: number): string => new Date(milliseconds).toISOString()
  return {
    ...explanationBody(details, viewer),
    created_at: user.createdAt.toISOString(),
    has_password: user.passwordHash !== null,
    deactivation: user.isActive
      ? null
      : { reason: user.inactiveReason, until: user.inactiveUntil?.toISOString() ?? null },
    is_invitable: isInvitable(user),
    sessions: sessions.map(sessionBody),
    oauth_accounts: user.oauthAccounts.map(accountBody),
    factors: {
      totp: totp && { added_at: time(totp.addedAt) },
      passkeys: passkeys.map(({ name, addedAt, rpId }) => ({ name, added_at: time(addedAt), domain: rpId })),
      recovery_codes: recovery?.digests.length ?? 0,
      reset_at: resetAt === null ? null : time(resetAt),
    },
    tokens: links.map(({ purpose, expiresAt }) => ({ purpose, expires_at: expiresAt.toISOString() })),
  }
}

const refusalBody = ({ at, reason, detail }: RefusedLogin) => ({ at: at.toISOString(), reason, detail })

/** Superusers see why somebody cannot log in. */
export const explainRouter: Router<Use> = {
  tag: 'users',
  endpoints: [
    endpoint(routes.explain.explain, {
      operationId: 'users:explain',
      summary: 'Why can the person with this address not log in?',
      query: [
        {
          name: 'email',
          description: 'The address. It need not be that of a user',
          schema: Type.String({ format: 'email' }),
        },
      ],
      replies: { 200: { description: 'The causes, and what they rest on', body: ExplanationSchema } },
      async handle({ by, query, request }, { explainLogin }: Use) {
        const parsed = parseAddress(query.get('email') ?? '')
        if ('objection' in parsed) {
          const msg = `value is not a valid email address: ${parsed.objection}`
          throw new Invalid([{ type: 'value_error', loc: ['query', 'email'], msg }])
        }
        const found = await explainLogin.execute({ by, email: parsed.email, ...request })
        return { status: 200, body: explanationBody(found, by.user) }
      },
    }),
    endpoint(routes.explain.explainByBody, {
      operationId: 'users:explain_by_body',
      summary: 'Why can the person not log in? The address is in the body, which no log of a proxy has',
      changesNothing: true,
      body: EmailBody,
      replies: { 200: { description: 'The causes, and what they rest on', body: ExplanationSchema } },
      async handle({ by, body: { email }, request }, { explainLogin }: Use) {
        const found = await explainLogin.execute({ by, email, ...request })
        return { status: 200, body: explanationBody(found, by.user) }
      },
    }),
    endpoint(routes.explain.details, {
      operationId: 'users:details',
      summary: 'Read everything about an account: causes of refused logins, logins, links, factors, mail on the way',
      target,
      replies: { 200: { description: 'The details', body: DetailsSchema } },
      async handle({ by, target, request }, { readDetails }: Use) {
        const details = await readDetails.execute({ by, target, ...request })
        return { status: 200, body: detailsBody(details, by.user) }
      },
    }),
  ],
}
