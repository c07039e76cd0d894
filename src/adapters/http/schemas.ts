import { domainToUnicode } from 'node:url'
import { type TSchema, Type } from 'typebox'
import type { UserExport } from '../../application/accounts/export-user.ts'
import type { FoundUsers } from '../../application/administration/search-users.ts'
import type { ProviderVault } from '../../application/ports/provider-vault.ts'
import type { SessionView } from '../../application/sign-in/list-sessions.ts'
import { type Email, type ParsedEmail, parseEmail } from '../../domain/email.ts'
import { jsonId } from '../../domain/ids.ts'
import type { OAuthAccount } from '../../domain/oauth-account.ts'
import { type User, viewOf } from '../../domain/user.ts'

/** The bodies of requests and answers, with the names of fastapi-users. */

export const parseAddress = (text: string): ParsedEmail => parseEmail(text, domainToUnicode)

/** Well-formed Unicode: a lone surrogate would be hashed as U+FFFD, so different passwords would be equal. */
export const text = (description: string) => Type.Unsafe<string>({ type: 'string', wellFormed: true, description })
const address = (description: string) => Type.Unsafe<Email>({ type: 'string', format: 'email', description })

/** `null` means that the field is not given. */
export const optional = {
  text: (description: string) =>
    Type.Optional(Type.Unsafe<string | undefined>({ type: ['string', 'null'], wellFormed: true, description })),
  address: (description: string) =>
    Type.Optional(Type.Unsafe<Email | undefined>({ type: ['string', 'null'], format: 'email', description })),
  time: (description: string) =>
    Type.Optional(Type.Unsafe<string | undefined>({ type: ['string', 'null'], format: 'date-time', description })),
  flag: (description: string) =>
    Type.Optional(Type.Unsafe<boolean | undefined>({ type: ['boolean', 'null'], description })),
  list: (description: string) =>
    Type.Optional(Type.Unsafe<unknown[] | undefined>({ type: ['array', 'null'], items: {}, description })),
}

const known = (description: string) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], description: `${description}; null if unknown` })

export const UserSchema = Type.Object(
  {
    id: Type.String({ format: 'uuid', description: 'UUID, lower-case with dashes' }),
    email: Type.String({ format: 'email', description: 'Unique, whatever its case' }),
    is_active: Type.Boolean({ description: 'Inactive users can neither log in nor use authenticated routes' }),
    is_superuser: Type.Boolean({ description: 'Superusers may use the routes by id' }),
    is_verified: Type.Boolean({ description: 'Whether the address was verified' }),
  },
  { title: 'User', additionalProperties: false },
)

/**
 * Copies field by field, so that nothing else of the record is sent.
 *
 * @param reader only a superuser gets private fields
 */
export function userBody(user: User, reader: User | null) {
  const { id, email, isActive, isSuperuser, isVerified, fields } = viewOf(user)
  const own = { ...fields, ...(reader?.isSuperuser && user.fields.hidden) }
  return { id: jsonId(id), email, is_active: isActive, is_superuser: isSuperuser, is_verified: isVerified, ...own }
}

/** A user in a list. */
export const ListedUserSchema = Type.Object(
  {
    ...UserSchema.properties,
    created_at: Type.String({ format: 'date-time' }),
    last_login: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      format: 'date-time',
      description: 'null if no login was recorded',
    }),
  },
  { additionalProperties: false },
)

export const pageOf = <Item extends TSchema>(item: Item) =>
  Type.Object(
    {
      items: Type.Array(item, {
        description:
          'There may be fewer than `limit` before the last page, because a page reads a bounded number of records',
      }),
      next: Type.Unsafe<string | null>({
        type: ['string', 'null'],
        description: 'The `after` of the next page; null on the last one',
      }),
      count: Type.Optional(Type.Integer({ description: 'The number of all users of the search, if it was asked for' })),
      is_count_complete: Type.Optional(
        Type.Boolean({
          description: 'Beside `count`: whether there are no more. The count stops after 10 000 records',
        }),
      ),
    },
    { title: 'UserPage', additionalProperties: false },
  )

export const UserPageSchema = pageOf(ListedUserSchema)

export function pageBody({ items, next, count }: FoundUsers, reader: User) {
  return {
    items: items.map(({ user, lastLoginAt }) => ({
      ...userBody(user, reader),
      created_at: user.createdAt.toISOString(),
      last_login: lastLoginAt?.toISOString() ?? null,
    })),
    next: next === null ? null : Buffer.from(next).toString('base64url'),
    ...(count !== null && { count: count.count, is_count_complete: count.isComplete }),
  }
}

const accountFields = {
  id: Type.String({ format: 'uuid', description: 'Of the link' }),
  oauth_name: Type.String({ description: 'Name of the provider' }),
  expires_at: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    description: 'The expiry of the provider’s token in Unix seconds; null if the provider does not say',
  }),
  account_id: Type.String({ description: 'The provider’s id of the account' }),
  account_email: Type.String({ description: 'The address at the provider' }),
}

export const UserWithAccountsSchema = Type.Object(
  {
    ...UserSchema.properties,
    oauth_accounts: Type.Array(
      Type.Object({ ...accountFields, access_token: Type.String() }, { additionalProperties: false }),
    ),
  },
  { title: 'UserWithOAuthAccounts', additionalProperties: false },
)

/** The provider accounts of a user without their tokens. */
export const AccountsSchema = Type.Array(Type.Object(accountFields, { additionalProperties: false }), {
  title: 'OAuthAccounts',
})

export function userWithAccountsBody(user: User, reader: User, vault: ProviderVault) {
  const accounts = user.oauthAccounts.map((account) => {
    const { id, oauth_name, ...rest } = accountBody(account)
    const access_token = vault.unseal(account.sealedAccessToken, user.id, account.provider) ?? ''
    return { id, oauth_name, access_token, ...rest }
  })
  return { ...userBody(user, reader), oauth_accounts: accounts }
}

type Link = Pick<OAuthAccount, 'id' | 'provider' | 'expiresAt' | 'accountId' | 'accountEmail'>

export function accountBody({ id, provider, expiresAt, accountId, accountEmail }: Link) {
  return {
    id,
    oauth_name: provider,
    expires_at: expiresAt === null ? null : String(Math.floor(expiresAt.getTime() / 1000)),
    account_id: accountId,
    account_email: accountEmail,
  }
}

/** The sessions of a user. Their ids are no credentials. */
export const SessionsSchema = Type.Array(
  Type.Object(
    {
      id: Type.String({ description: 'For `DELETE`. It is no credential' }),
      created_at: Type.String({ format: 'date-time', description: 'The time of the login' }),
      last_used_at: Type.String({ format: 'date-time', description: 'At most 15 minutes before the last request' }),
      network: known('The shortened address of the login: an IPv4 /24 or an IPv6 /48'),
      browser: known('The browser of the login, such as `Firefox`'),
      system: known('The system of the login, such as `Windows`'),
      methods: Type.Array(Type.String(), {
        description: 'How the login was proved (RFC 8176), such as `pwd`; `provider`: at a provider; empty if unknown',
      }),
      level: Type.Integer({ description: '2 for a login with two factors, otherwise 1' }),
      is_current: Type.Boolean({ description: 'Whether it is the session of this request' }),
    },
    { additionalProperties: false },
  ),
  { title: 'Sessions' },
)

export function sessionBody({ id, createdAt, usedAt, isCurrent, ...view }: SessionView) {
  const { network, browser, system, methods, level } = view
  return {
    id,
    created_at: createdAt.toISOString(),
    last_used_at: usedAt.toISOString(),
    network,
    browser,
    system,
    methods,
    level,
    is_current: isCurrent,
  }
}

/** Everything about a user that the user may read. */
export const UserExportSchema = Type.Object(
  {
    ...UserSchema.properties,
    has_password: Type.Boolean({ description: 'Whether the user can log in with a password' }),
    is_owner_proved: Type.Boolean({ description: 'Whether the owner of the address is known to control the account' }),
    created_at: Type.String({ format: 'date-time' }),
    last_login: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      format: 'date-time',
      description: 'null if no login was recorded',
    }),
    fields: Type.Object({}, { additionalProperties: true, description: 'The fields that the deployer declares' }),
    oauth_accounts: Type.Array(
      Type.Object(
        { ...accountFields, vouched_email: known('The address for which the provider vouched') },
        { additionalProperties: false },
      ),
    ),
    factors: Type.Array(
      Type.Object(
        {
          type: Type.Enum(['totp', 'passkey']),
          name: Type.Optional(Type.String({ description: 'Of a passkey' })),
          added_at: Type.String({ format: 'date-time' }),
        },
        { additionalProperties: false },
      ),
      { description: 'The second factors, without their secrets' },
    ),
    sessions: SessionsSchema,
  },
  { title: 'UserExport', additionalProperties: false },
)

/** Copies field by field, so that nothing else is sent. */
export function exportBody(user: UserExport) {
  return {
    id: jsonId(user.id),
    email: user.email,
    is_active: user.isActive,
    is_superuser: user.isSuperuser,
    is_verified: user.isVerified,
    has_password: user.hasPassword,
    is_owner_proved: user.isOwnerProved,
    created_at: user.createdAt.toISOString(),
    last_login: user.lastLoginAt?.toISOString() ?? null,
    fields: user.fields,
    oauth_accounts: user.accounts.map((account) => ({ ...accountBody(account), vouched_email: account.vouchedEmail })),
    factors: user.factors.map((one) => ({
      type: one.type,
      ...(one.type === 'passkey' && { name: one.name }),
      added_at: one.addedAt.toISOString(),
    })),
    sessions: (user.sessions ?? []).map(sessionBody),
  }
}

export const LoginForm = Type.Object(
  {
    username: text('The e-mail address'),
    password: text('The password'),
    grant_type: Type.Optional(Type.String({ pattern: '^password$', description: '`password`, or absent' })),
    scope: Type.Optional(
      Type.String({ description: '`second_factor` asks for it in a trusted browser, too. Any other text is ignored' }),
    ),
    client_id: Type.Optional(Type.String({ description: 'Ignored' })),
    client_secret: Type.Optional(Type.String({ description: 'Ignored' })),
  },
  { title: 'Login' },
)

const loginForms = new Map<string, typeof LoginForm>()

/** The form of a backend with this login field. Backends share it, because compiling its validator takes milliseconds. */
export function loginForm(field: string | null): typeof LoginForm {
  if (field === null) return LoginForm
  const username = text(`The e-mail address, or \`${field}\``)
  const form = loginForms.get(field) ?? Type.Object({ ...LoginForm.properties, username }, { title: `Login_${field}` })
  loginForms.set(field, form)
  return form
}

const dropped = optional.flag('Type-checked and ignored: only superusers may change it')
const droppedFlags = { is_active: dropped, is_superuser: dropped, is_verified: dropped }

export const RegisterBody = Type.Object(
  {
    email: address('The address to register'),
    password: text('The chosen password'),
    ...droppedFlags,
    id: optional.text('Type-checked and ignored: every user gets a new one'),
    oauth_accounts: optional.list('Type-checked and ignored: accounts are linked by signing in'),
  },
  { title: 'Registration' },
)

export const EmailBody = Type.Object({ email: address('The address of the account') }, { title: 'EmailAddress' })

export const ResetPasswordBody = Type.Object(
  { token: text('The token of the link in the message'), password: text('The new password') },
  { title: 'PasswordReset' },
)

export const ResetTokenBody = Type.Object(
  { token: text('The token of the link in the message') },
  { title: 'ResetToken' },
)

export const VerifyBody = Type.Object(
  { token: text('The token of the link in the message') },
  { title: 'Verification' },
)

export const UpdateMeBody = Type.Object(
  {
    email: optional.address('A new address; it has to be verified again'),
    password: optional.text('A new password; ends every other session'),
    ...droppedFlags,
    current_password: optional.text('The present password; checked when given'),
  },
  { title: 'OwnUpdate' },
)

export const UpdateUserBody = Type.Object(
  {
    email: optional.address('A new address; not verified unless is_verified says so'),
    password: optional.text('A new password; ends every session of the user, except that of this request'),
    is_active: optional.flag('`false` ends every session'),
    until: optional.time('With `is_active: false`: when the user becomes active again. Later than now'),
    reason: optional.text('With `is_active: false`: why, in at most 500 characters. The user does not see it'),
    is_superuser: optional.flag('Whether the user may use these routes'),
    is_verified: optional.flag('Whether the address counts as verified'),
    current_password: optional.text('The password of the caller; checked when given'),
  },
  { title: 'Update' },
)

export const CreateUserBody = Type.Object(
  {
    email: address('The address of the user'),
    password: optional.text('The password; absent for a user who is invited'),
    invite: optional.flag('Mails the user a link to choose the password, which works for seven days'),
    is_active: optional.flag('`true` by default'),
    is_superuser: optional.flag('Whether the user may use these routes'),
    is_verified: optional.flag('Whether the address counts as verified'),
  },
  { title: 'NewUser', additionalProperties: false },
)

export const InvalidSchema = Type.Object(
  {
    detail: Type.Array(
      Type.Object(
        {
          type: Type.String({ description: 'A machine-readable kind, as FastAPI words it' }),
          loc: Type.Array(Type.Union([Type.String(), Type.Integer()]), { description: 'Path to the fault' }),
          msg: Type.String({ description: 'For developers' }),
          ctx: Type.Optional(Type.Object({}, { additionalProperties: true })),
        },
        { additionalProperties: false },
      ),
    ),
  },
  { title: 'ValidationError', additionalProperties: false },
)
