import { parseEmail } from '../../adapters/addresses/parse-email.ts'
import { isCommonPassword } from '../../adapters/crypto/common-passwords.ts'
import { type DerivedKeys, newToken } from '../../adapters/crypto/derived-keys.ts'
import { deviceTokens } from '../../adapters/crypto/device-tokens.ts'
import { newId, newUserIds } from '../../adapters/crypto/new-id.ts'
import { providerVault } from '../../adapters/crypto/provider-vault.ts'
import { factorCodes } from '../../adapters/factors/factor-codes.ts'
import { fieldRulesOf } from '../../adapters/fields/declared-fields.ts'
import { presentUsers } from '../../adapters/stores/present-users.ts'
import { passwordValidation } from '../../application/accounts/password-validation.ts'
import { HandlerSink, type NamedHandlers } from '../../application/deliveries/handler-sink.ts'
import { SessionsSink } from '../../application/deliveries/sessions-sink.ts'
import { RefusalNotes } from '../../application/explain/note-refused.ts'
import { Challenges } from '../../application/factors/challenges.ts'
import { TrustedBrowsers } from '../../application/factors/trusted-browsers.ts'
import { CountedLimits } from '../../application/limits/counted-limits.ts'
import { countersOfSecrets } from '../../application/limits/counters-of-secrets.ts'
import { unlimited } from '../../application/limits/limits.ts'
import type { Attack } from '../../application/limits/report-attack.ts'
import { PasskeyChallenges } from '../../application/passkeys/passkey-challenges.ts'
import { notePasskeyDomain } from '../../application/passkeys/passkey-domains.ts'
import { SignInChallenges } from '../../application/passkeys/sign-in-challenges.ts'
import type { EventHandlers } from '../../application/ports/event-handlers.ts'
import type { PasswordHasher } from '../../application/ports/password-hasher.ts'
import type { SinkName } from '../../application/ports/stores/outbox.ts'
import type { UserIds } from '../../application/ports/stores/user-ids.ts'
import type { UserStore } from '../../application/ports/stores/user-store.ts'
import { ForgetFormerHashes } from '../../application/transfer/forget-former-hashes.ts'
import type { FieldRules } from '../../domain/fields.ts'
import type { RequestPurpose } from '../../domain/one-time-token.ts'
import { brandOf } from '../../lib/brand.ts'
import { timers } from '../../lib/timers.ts'
import type { Settings } from '../settings/schema/schema.ts'
import { enabledOf } from '../settings/schema/tree.ts'
import { defaultTenant } from '../settings/tenants.ts'
import type { Former } from './former.ts'
import type { OpenStores } from './open-stores.ts'
import { passkeysOf } from './passkeys.ts'
import type { Reports } from './reports.ts'

interface Opened
  extends Pick<OpenStores, 'users' | 'sessions' | 'tokens' | 'singleUseRecords' | 'limiter' | 'refusedLogins'>,
    Reports,
    Former {
  readonly tenant: string
  /** The address for browsers, without a final slash. */
  readonly publicUrl: string
  readonly hasher: PasswordHasher
  readonly eventHandlers: EventHandlers
  /** The handlers that get events, each as a sink. */
  readonly handlers: readonly NamedHandlers[]
  readonly clock: () => Date
  readonly keyRing: DerivedKeys
  /** Called for each attempt that the counter of an account refuses. */
  readonly attacked: (attack: Attack) => void
  /** Called after a write of events. */
  readonly wakeRelay: () => void
}

/** The needs of all use cases, under the names that the use cases give them. */
export type Ports = ReturnType<typeof portsOf>

/** Turns settings and opened resources into the needs of use cases. */
export function portsOf(settings: Settings, opened: Opened) {
  const { users, keyRing, attacked, withheld, handlers, publicUrl, ...others } = opened
  const { clock, hasher, eventHandlers, sessions, tokens, tenant, formerUntil: until } = opened
  const limiter = countersOfSecrets(opened.limiter)
  const devices = deviceTokens(keyRing.deviceTokenKey, clock, keyRing.former.deviceTokenKeys)
  const lifetimes = lifetimesOf(settings)
  const { maxSingleUseRecords, trustedBrowserDays } = settings.security
  const counted = { limiter, keyRing, deviceTokens: devices, figures: settings.limits, clock, attacked, withheld }
  const handlerTimeoutSeconds = settings.handlers.timeoutSeconds
  const { expiringMarks } = users
  const userPorts = userPortsOf(settings, { users: users.users, userIds: users.userIds, hasher, clock })
  const forTokens = { tokens, expiringMarks, keyRing, clock, lifetimes }
  const forSinks = { ...forTokens, users: userPorts.users, sessions, tenant, handlerTimeoutSeconds }
  const notes = new RefusalNotes({ ...others, keyRing })
  const sinks = [new SessionsSink(forSinks), ...handlers.map((one) => new HandlerSink(one, forSinks))]
  return {
    ...others,
    ...userPorts,
    limiter,
    noteRefused: notes.note.bind(notes),
    sinks,
    sinkNames: new Set<SinkName>(sinks.map(({ name }) => name)),
    outbox: users.outbox,
    loginTimes: users.loginTimes,
    parseEmail,
    forgetFormerHashes: new ForgetFormerHashes({ users: userPorts.users, clock, until }),
    tokenRequests: users.tokenRequests,
    expiringMarks,
    inactiveNotices: { expiringMarks, timers, warnOfUntold: opened.warnOfUntold },
    keyRing,
    deviceTokens: devices,
    limitFigures: settings.limits.enabled ? settings.limits : null,
    demandsVerified: demandsVerified(settings),
    limits: settings.limits.enabled ? new CountedLimits(counted) : unlimited,
    vault: providerVault(keyRing.providerTokenKey, keyRing.former.providerTokenKeys),
    newToken,
    providerNames: new Set(enabledOf(settings.providers).map(([name]) => name)),
    freshLoginSeconds: settings.security.freshLoginSeconds || null,
    hasConsole: settings.admin.enabled,
    secondFactor: settings.security.secondFactor,
    newAddressTokens: settings.security.confirmEmailChange ? { tokens, keyRing, clock, lifetimes } : null,
    validatePassword: passwordValidation({ eventHandlers, tenant, clock, newId }),
    reportsUnchanged: settings.users.reportsUnchanged,
    requiresSession: settings.verification.requiresSession,
    maxSingleUseRecords,
    challenges: new Challenges({ ...others, limiter, keyRing, newToken, maxSingleUseRecords }),
    passkeyChallenges: new PasskeyChallenges({ ...others, limiter, keyRing, newToken, maxSingleUseRecords }),
    signInChallenges: new SignInChallenges({ expiringMarks, keyRing, clock }),
    passkeys: passkeysOf(settings, publicUrl),
    noteRpId: (rpId: string) => notePasskeyDomain(users.tenantTexts, rpId),
    factorCodes: factorCodes(factorIssuer(settings, opened)),
    trustedBrowsers: new TrustedBrowsers({ expiringMarks, deviceTokens: devices, keyRing, clock, trustedBrowserDays }),
    factorResetHours: settings.security.factorResetHours,
    lifetimes,
    leaseSeconds: settings.events.leaseSeconds,
    handlerTimeoutSeconds,
  }
}

/** The name in authenticator apps: that of the pages. Tenants may share it, and an app keeps one entry for an issuer and an account. */
function factorIssuer({ pages }: Settings, { tenant, publicUrl }: Pick<Opened, 'tenant' | 'publicUrl'>): string {
  const brand = brandOf(pages.name, new URL(publicUrl))
  return tenant === defaultTenant ? brand : `${brand} (${tenant})`
}

/** Whether a way to log in demands a verified address. */
export function demandsVerified({ backends, providers }: Settings): boolean {
  const ways = [...enabledOf(backends), ...enabledOf(providers)]
  return ways.some(([, { requiresVerification }]) => requiresVerification)
}

export function lifetimesOf({ tokens }: Settings): Readonly<Record<RequestPurpose, number>> {
  return { reset_password: tokens.resetLifetimeSeconds, verify_email: tokens.verifyLifetimeSeconds }
}

/** The fields that the deployer declares. */
export function rulesOf({ users, backends }: Settings): FieldRules {
  return fieldRulesOf(users, backends)
}

/** The ports that only users and passwords need. */
export function userPortsOf(
  settings: Settings,
  { users, userIds, ...opened }: Pick<Opened, 'hasher' | 'clock'> & Readonly<{ users: UserStore; userIds: UserIds }>,
) {
  const { passwords, ids } = settings
  const fieldRules = rulesOf(settings)
  const isCommon = passwords.refusesCommon ? isCommonPassword : () => false
  const policy = { minLength: passwords.minLength, isCommon }
  const ofProcess = { newId, newUserId: newUserIds(ids, userIds), timers, random: Math.random }
  return {
    ...opened,
    ...ofProcess,
    users: presentUsers(users, { fieldRules, clock: opened.clock }),
    fieldRules,
    policy,
    reportsLookups: settings.users.reportsLookups,
    verifiesNewUsers: settings.mail.url !== 'off' && settings.mail.verifyOnRegister,
  }
}
