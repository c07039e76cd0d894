import type { Factors } from '../../domain/factors.ts'
import type { Session } from '../../domain/session.ts'
import { importMark, type User } from '../../domain/user.ts'
import { everyOne } from '../every-one.ts'
import type { ExpiringMarks } from '../ports/stores/expiring-marks.ts'
import type { LoginTimes } from '../ports/stores/login-times.ts'
import type { SessionStore } from '../ports/stores/session-store.ts'
import type { UserStore } from '../ports/stores/user-store.ts'
import type { ArrivingEnd, ArrivingSession, ArrivingUser } from '../ports/user-source.ts'
import { isOfOneStore } from './import-marks.ts'

interface Needs {
  readonly users: Pick<UserStore, 'list'>
  /** `null` if the sessions cannot be reached from here. */
  readonly sessions: Pick<SessionStore, 'listOf'> | null
  readonly expiringMarks: Pick<ExpiringMarks, 'list'>
  readonly loginTimes: Pick<LoginTimes, 'lastLogin'>
}

/** Users that are read at once. */
const pageSize = 32
const maxSessions = 1000

/**
 * Every user with sessions, in the order of the ids, and then the ids of ended credentials and of deleted imported users. One-time tokens, counters and events
 * are no part of it. Two exports of the same records are equal.
 */
export class ExportUsers {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  /** @param input.withHashes whether the password hashes are part of it */
  async *execute({ withHashes }: { withHashes: boolean }): AsyncGenerator<ArrivingUser | ArrivingEnd> {
    const { users, expiringMarks } = this.#needs
    let after: string | null = null
    do {
      const { items, next }: Awaited<ReturnType<UserStore['list']>> = await users.list(pageSize, after)
      yield* await Promise.all(items.map((user) => this.#recordOf(user, withHashes)))
      after = next
    } while (after !== null)
    for await (const { id, until } of everyOne((last) => expiringMarks.list(pageSize, last))) {
      if (!isOfOneStore(id)) yield { type: 'ended', id, until }
    }
  }

  async #recordOf(user: User, withHashes: boolean): Promise<ArrivingUser> {
    const { id, email, isActive, isSuperuser, isVerified, isOwnerProved, createdAt, endedUntil, imported } = user
    const { generation, keptSid } = user.sessions
    const [lastLoginAt, sessions] = await Promise.all([
      this.#needs.loginTimes.lastLogin(id),
      this.#needs.sessions?.listOf(id, maxSessions) ?? [],
    ])
    const mark = importMark(user)
    const goesOn = imported !== null && imported.generation === generation
    return {
      type: 'user',
      id,
      email,
      passwordHash: withHashes ? user.passwordHash : null,
      isActive,
      isSuperuser,
      isVerified,
      ...(!isActive && { inactiveUntil: user.inactiveUntil, inactiveReason: user.inactiveReason }),
      isOwnerProved,
      createdAt,
      lastLoginAt,
      factors: factorsOf(user),
      fields: fieldsOf(user),
      accounts: user.oauthAccounts.map((account) => ({
        id: account.id,
        provider: account.provider,
        accountId: account.accountId,
        accountEmail: account.accountEmail,
        vouchedEmail: account.vouchedEmail,
        accessToken: account.sealedAccessToken,
        refreshToken: account.sealedRefreshToken,
        isSealed: true,
        expiresAt: account.expiresAt,
      })),
      sessions: [...sessions].sort(byDigest).map(recordOfSession),
      credentials: { generation, keptSid, endedUntil },
      former: goesOn ? { hashText: withHashes ? imported.hashText : null } : null,
      ...(mark !== null && { imported: { digest: mark.digest, isChanged: mark.isChanged } }),
    }
  }
}

/** The values that the user has, without defaults for those who have none. */
function fieldsOf({ fields: { shown, hidden, retired } }: User): ArrivingUser['fields'] {
  const all = Object.entries<unknown>({ ...retired, ...hidden, ...shown })
  return Object.fromEntries(all.filter(([, value]) => value !== null).sort(([one], [other]) => (one < other ? -1 : 1)))
}

/** The members in an order of their own, so that the lines of two exports are equal. */
function factorsOf({ factors: { totp, passkeys, passkeyHandle, recovery, resetAt, isUnverified } }: User): Factors {
  return {
    totp: totp && { sealedSecret: totp.sealedSecret, lastStep: totp.lastStep, addedAt: totp.addedAt },
    passkeys: passkeys.map(({ id, publicKey, counter, transports, rpId, name, addedAt }) => {
      return { id, publicKey, counter, transports, rpId, name, addedAt }
    }),
    ...(passkeyHandle !== undefined && { passkeyHandle }),
    recovery: recovery && { sealedKey: recovery.sealedKey, digests: recovery.digests },
    resetAt,
    ...(isUnverified && { isUnverified }),
  }
}

/** As `factorsOf`. */
function recordOfSession(session: Session): ArrivingSession {
  return {
    digest: session.digest,
    generation: session.generation,
    sid: session.sid,
    provedAt: session.provedAt,
    methods: session.methods,
    createdAt: session.createdAt,
    seenAt: session.seenAt,
    idleSeconds: session.idleSeconds,
    endsAt: session.endsAt,
    network: session.network,
    browser: session.browser,
    system: session.system,
  }
}

const byDigest = (one: Session, other: Session): number => (one.digest < other.digest ? -1 : 1)
