import { randomUUID } from 'node:crypto'
import type { Credential } from '../application/ports/credentials.ts'
import { nobody } from '../domain/actor.ts'
import { type Email, emailKey } from '../domain/email.ts'
import { type AccountEvent, accountEvent } from '../domain/events.ts'
import type { Factors } from '../domain/factors.ts'
import { type EventId, kindOf, type UserId } from '../domain/ids.ts'
import type { OAuthAccount } from '../domain/oauth-account.ts'
import type { OneTimeToken, TokenRequest } from '../domain/one-time-token.ts'
import type { Session } from '../domain/session.ts'
import type { SingleUseRecord } from '../domain/single-use-record.ts'
import { newUser, type User } from '../domain/user.ts'

const random = (): string => randomUUID().replaceAll('-', '')
const digest = (): string => `${random()}${random()}`.slice(0, 43)

let makeId = (): UserId => randomUUID() as UserId

/** The ids of later users. The suites of one process share them. */
export function buildIds(make: () => UserId): void {
  makeId = make
}

export function idOfAnotherKind({ id }: User): UserId {
  return (kindOf(id) === 'uuid' ? '42' : randomUUID()) as UserId
}

/**
 * A user without zero values, so that a test notices each field that a store does not keep. `isSuperuser` is `false`, and there
 * are no `factors`, because a login then needs more than a password. It is active, so its deactivation has no end and no reason.
 */
export function aUser(fields: Partial<User> = {}): User {
  const id = makeId()
  return {
    ...newUser(
      id,
      `User.${random()}@bücher.example` as Email,
      `$argon2id$v=19$m=19456,t=2,p=1$${random()}`,
      new Date(),
    ),
    passwordVersion: 3,
    isVerified: true,
    isOwnerProved: true,
    sessions: { generation: 7, keptSid: digest() },
    endedUntil: new Date(Date.now() + 3_600_000),
    oauthAccounts: [anAccount()],
    fields: {
      shown: { nickname: `Ada ${random()}`, age: 36, isMember: true, tags: ['a', 'ü'], none: null },
      hidden: { note: random() },
      retired: { former: random() },
      keys: { nickname: random() },
    },
    imported: { generation: 5, hashText: `$2b$12$${random()}`, digest: digest(), version: 2 },
    ...fields,
  }
}

/** A second factor with recovery codes. */
export function someFactors(): Factors {
  return {
    totp: { sealedSecret: `sealed-${random()}`, lastStep: 61_000_000, addedAt: Date.now() },
    passkeys: [
      {
        id: random(),
        publicKey: random(),
        counter: 7,
        transports: ['usb', 'internal'],
        rpId: 'example.com',
        name: 'Telephone',
        addedAt: Date.now(),
      },
    ],
    passkeyHandle: random(),
    recovery: { sealedKey: `sealed-${random()}`, digests: [digest(), digest()] },
    resetAt: Date.now() + 86_400_000,
  }
}

export function anAccount(fields: Partial<OAuthAccount> = {}): OAuthAccount {
  return {
    id: randomUUID(),
    provider: 'acme',
    accountId: `account-${random()}`,
    accountEmail: `account.${random()}@example.com`,
    vouchedEmail: `vouched.${random()}@example.com` as Email,
    sealedAccessToken: `sealed-${random()}`,
    sealedRefreshToken: `sealed-${random()}`,
    expiresAt: new Date(Date.now() + 3_600_000),
    refreshingUntil: new Date(Date.now() + 10_000),
    ...fields,
  }
}

export function aSingleUseRecord(fields: Partial<SingleUseRecord> = {}): SingleUseRecord {
  return {
    key: `app-code:${digest()}`,
    sealed: digest(),
    share: `single-use:${digest()}`,
    expiresAt: new Date(Date.now() + 600_000),
    ...fields,
  }
}

export function anEvent(user: User, fields: Partial<AccountEvent> = {}): AccountEvent {
  const metadata = {
    eventId: randomUUID() as EventId,
    at: new Date(),
    requestId: `request-${random()}`,
    languages: ['de-CH', 'en'],
    by: nobody,
  }
  return { ...accountEvent('registered', user, metadata), ...fields } as AccountEvent
}

/** The credential of a login at this moment. */
export function aCredential(fields: Partial<Credential> = {}): Credential {
  const id = digest()
  return {
    id,
    userId: makeId(),
    generation: 0,
    sid: id,
    provedAt: new Date(),
    methods: ['pwd'],
    expiresAt: new Date(Date.now() + 3_600_000),
    ...fields,
  }
}

export function aSession(fields: Partial<Session> = {}): Session {
  const now = Date.now()
  return {
    digest: digest(),
    userId: makeId(),
    generation: 7,
    sid: digest(),
    provedAt: new Date(now - 7_000),
    methods: ['pwd', 'otp'],
    createdAt: new Date(now - 5_000),
    seenAt: new Date(now - 1_000),
    idleSeconds: 86_400,
    endsAt: new Date(now + 30 * 86_400_000),
    network: '203.0.113.0/24',
    browser: 'Firefox',
    system: 'Linux',
    ...fields,
  }
}

export function aToken(fields: Partial<OneTimeToken> = {}): OneTimeToken {
  const now = Date.now()
  return {
    purpose: 'reset_password',
    userId: makeId(),
    digest: digest(),
    eventId: randomUUID() as EventId,
    fact: { email: emailKey(`${random()}@example.com` as Email), passwordVersion: 3 },
    createdAt: new Date(now - 1_000),
    expiresAt: new Date(now + 900_000),
    ...fields,
  }
}

export function aTokenRequest(fields: Partial<TokenRequest> = {}): TokenRequest {
  return {
    id: digest(),
    eventId: randomUUID() as EventId,
    purpose: 'verify_email',
    sealedEmail: `sealed-${random()}`,
    requestId: `request-${random()}`,
    languages: ['de-CH', 'en'],
    at: new Date(Date.now() - 500),
    ...fields,
  }
}
