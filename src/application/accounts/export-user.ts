import type { Email } from '../../domain/email.ts'
import type { FieldValues } from '../../domain/field.ts'
import type { UserId } from '../../domain/ids.ts'
import type { OAuthAccount } from '../../domain/oauth-account.ts'
import type { User } from '../../domain/user.ts'
import type { LoginTimes } from '../ports/stores/login-times.ts'
import type { SessionStore } from '../ports/stores/session-store.ts'
import { requireRight } from '../rights.ts'
import type { By } from '../sign-in/authenticate.ts'
import type { FreshLoginNeeds } from '../sign-in/fresh-login.ts'
import { ListSessions, type SessionView } from '../sign-in/list-sessions.ts'

interface Needs extends FreshLoginNeeds {
  loginTimes: LoginTimes
  /** `null` where this process cannot read them. */
  sessions: SessionStore | null
}

/** Everything that is stored about a user, without hashes, tokens and secrets (GDPR articles 15 and 20). */
export interface UserExport {
  readonly id: UserId
  readonly email: Email
  readonly isActive: boolean
  readonly isSuperuser: boolean
  readonly isVerified: boolean
  /** When the deactivation ends by itself, and its reason; `null` for none, and for an active user. */
  readonly inactiveUntil: Date | null
  readonly inactiveReason: string | null
  readonly hasPassword: boolean
  readonly isOwnerProved: boolean
  readonly createdAt: Date
  /** `null`: no login was recorded. */
  readonly lastLoginAt: Date | null
  /** Values of own fields. Private ones are for programs and commands alone. */
  readonly fields: FieldValues
  /** Values of fields that are no longer declared; `null` for the user, because they may have been private. */
  readonly formerFields: FieldValues | null
  readonly factors: readonly (
    | { readonly type: 'totp'; readonly addedAt: Date }
    | {
        readonly type: 'passkey'
        readonly id: string
        readonly name: string
        readonly domain: string
        readonly addedAt: Date
      }
  )[]
  /** When the factors go, for a user who has lost them; `null` if nobody has asked for this. */
  readonly factorsResetAt: Date | null
  readonly accounts: readonly Pick<
    OAuthAccount,
    'id' | 'provider' | 'accountId' | 'accountEmail' | 'vouchedEmail' | 'expiresAt'
  >[]
  /** The newest ones, at most 100; `null` if this process cannot read them. */
  readonly sessions: readonly SessionView[] | null
}

/** Exports the data of a user, for the user, or for a program or command that decides by itself. */
export class ExportUser {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  async execute({ by, target }: { by: By; target: User }): Promise<UserExport> {
    const { loginTimes, sessions, ...needs } = this.#needs
    requireRight(needs, by, 'export_account', target)
    const { id, email, isActive, isSuperuser, isVerified, isOwnerProved, createdAt } = target
    const { shown, hidden, retired } = target.fields
    const { totp, passkeys, resetAt } = target.factors
    const seesPrivate = by.type !== undefined
    return {
      id,
      email,
      isActive,
      isSuperuser,
      isVerified,
      inactiveUntil: target.inactiveUntil,
      inactiveReason: target.inactiveReason,
      hasPassword: target.passwordHash !== null,
      isOwnerProved,
      createdAt,
      lastLoginAt: await loginTimes.lastLogin(id),
      fields: seesPrivate ? { ...shown, ...hidden } : shown,
      formerFields: seesPrivate ? retired : null,
      factors: [
        ...(totp === null ? [] : [{ type: 'totp', addedAt: new Date(totp.addedAt) } as const]),
        ...passkeys.map(({ id, name, rpId: domain, addedAt }) => {
          return { type: 'passkey', id, name, domain, addedAt: new Date(addedAt) } as const
        }),
      ],
      factorsResetAt: resetAt === null ? null : new Date(resetAt),
      accounts: target.oauthAccounts.map(({ id, provider, accountId, accountEmail, vouchedEmail, expiresAt }) => {
        return { id, provider, accountId, accountEmail, vouchedEmail, expiresAt }
      }),
      sessions: sessions && (await new ListSessions({ ...needs, sessions }).execute({ by, target })),
    }
  }
}
