import type { Actor } from '../../domain/actor.ts'
import { emailKey } from '../../domain/email.ts'
import { type AccountEvent, accountEvent } from '../../domain/events.ts'
import { hasFactor } from '../../domain/factors.ts'
import { jsonId } from '../../domain/ids.ts'
import { Refusal, Unavailable } from '../../domain/refusal.ts'
import { unknownTraits } from '../../domain/session.ts'
import type { User } from '../../domain/user.ts'
import { type ChangeUser, QueueFull } from '../change-user.ts'
import { eventMetadata, type MetadataNeeds, type RequestFacts } from '../event-metadata.ts'
import { type NoteNeeds, noting } from '../explain/note-refused.ts'
import { type Challenges, type FactorMethod, methodsOf } from '../factors/challenges.ts'
import { isTooWeak, type LevelNeeds, mustAskFactor, trustedBrowser } from '../factors/level.ts'
import type { TrustedBrowsers } from '../factors/trusted-browsers.ts'
import type { Limits } from '../limits/limits.ts'
import type { IssuedCredential } from '../ports/credentials.ts'
import type { DeviceTokens } from '../ports/device-tokens.ts'
import type { EventHandlers } from '../ports/event-handlers.ts'
import type { LoginTimes } from '../ports/stores/login-times.ts'
import { type Backend, loggedIn } from './authenticate.ts'

export interface CompleteLoginNeeds extends MetadataNeeds, LevelNeeds, NoteNeeds {
  /** Absent where nobody has a second factor. The login of a user who has one then fails. */
  challenges?: Pick<Challenges, 'open'>
  changeUser: ChangeUser
  eventHandlers: EventHandlers
  deviceTokens: Pick<DeviceTokens, 'idOf' | 'issue'>
  /** Absent where no browser is trusted. */
  trustedBrowsers?: Pick<TrustedBrowsers, 'isTrusted' | 'trust'>
  limits: Pick<Limits, 'mayTell' | 'challenge'>
  loginTimes: Pick<LoginTimes, 'recordLogin'>
  warnOfDropped: (dropped: DroppedEvents) => void
  /** Called when the time of a login was not recorded. */
  warnOfUnrecorded: (unrecorded: UnrecordedTime) => void
}

/** A login whose events were not written. */
export interface DroppedEvents {
  readonly userId: string | number
  readonly requestId: string
}

export interface UnrecordedTime {
  readonly err: unknown
  readonly requestId: string
}

/** The client of a login. Without `caller`, the browser is unknown, and no event reports a new sign-in. */
export interface LoginClient extends RequestFacts {
  /** A secret that only this browser sends. Then a challenge works in this browser alone. */
  readonly browser?: string | null | undefined
}

interface Login extends LoginClient {
  /** The exact record whose password or provider account was verified. */
  readonly user: User
  readonly backend: Backend
  /** For the note of a refusal: the provider, the app, or the second factor. */
  readonly detail?: string
  /** How the user was proved, as in `Proof`. */
  readonly methods: readonly string[]
  /** When the user was proved, for a login that continues another one; by default now. */
  readonly provedAt?: Date
  /** The app that gets the credential for a code. */
  readonly app?: string
  /** Whether the provider demands a verified user, even if the backend does not. */
  readonly requiresVerification?: boolean
  /** The actor of the events; by default the user in the new login. */
  readonly by?: Actor
  /** Whether to ask for the second factor in a trusted browser, too. */
  readonly asksFactor?: boolean | undefined
  /** Whether later logins in this browser need no second factor for a time. */
  readonly trustsBrowser?: boolean | undefined
  /** Whether this request has created the user. */
  readonly isRegistration?: boolean
}

/** The result of every way to log in. A later release may add members, so check `type`. */
export type LoginResult = Granted | SecondFactorRequired

/** The user has a second factor. `FinishLogin` takes the challenge within five minutes, for this backend. */
export interface SecondFactorRequired {
  readonly type: 'second_factor'
  readonly challenge: string
  readonly methods: readonly FactorMethod[]
}

export interface Granted {
  readonly type: 'granted'
  readonly issued: IssuedCredential
  /** The device token that the browser gets; `null` if it keeps the one that it has. */
  readonly device: string | null
}

/**
 * Every way to log in ends here after it has proved the user. Only `addedFactor` issues credentials, too.
 *
 * Issues one if the user may log in through this backend and has no second factor, has shown it, or trusts the browser. Then it records
 * the time of the login, and writes the login's events that have a handler. It only warns if the time is not recorded or the queue
 * of events is full: otherwise a failing handler would lock its user out.
 */
export async function completeLogin(needs: CompleteLoginNeeds, login: Login): Promise<LoginResult> {
  const { user, detail = null } = login
  const noted = { account: emailKey(user.email), reason: user.isActive ? null : 'inactive', detail } as const
  return await noting(needs, noted, () => completed(needs, login))
}

async function completed(needs: CompleteLoginNeeds, login: Login): Promise<LoginResult> {
  const { user, backend, app, requestId, requiresVerification = false, traits = unknownTraits } = login
  if (!user.isActive) throw new Refusal('LOGIN_BAD_CREDENTIALS')
  if ((requiresVerification || backend.requiresVerification) && !user.isVerified) {
    throw new Refusal('LOGIN_USER_NOT_VERIFIED')
  }

  const device = login.caller?.device ?? null
  const mustAsk = mustAskFactor(user, login)
  // A login of level 1 would be of no use to a user of whom two factors are demanded.
  const mayTrust = mustAsk && !login.asksFactor && !isTooWeak(needs, { user, credential: login })
  const isKeptTrusted = hasFactor(user) && (await needs.trustedBrowsers?.isTrusted(user, device)) === true
  const isTrusted = mayTrust && isKeptTrusted
  const methods = isTrusted ? [...login.methods, trustedBrowser] : login.methods
  if (mustAsk && !isTrusted) {
    const { challenges } = needs
    if (challenges === undefined) throw new Unavailable('a user has a second factor, and the needs have no challenges')
    const { caller, browser = null } = login
    await needs.limits.challenge({ account: emailKey(user.email), device })
    const client = caller?.client ?? null
    const proved = { user, backend: backend.name, browser, methods, requiresVerification, client }
    const challenge = await challenges.open(proved)
    needs.noteRefused?.(emailKey(user.email), { reason: 'second_factor_asked', detail: null })
    return { type: 'second_factor', challenge, methods: methodsOf(user.factors) }
  }

  const at = needs.clock()
  // In the same turn, so that a store that holds users and sessions may write both at once.
  const [issued] = await Promise.all([
    backend.credentials.issue(user, { at: login.provedAt ?? at, methods, ...(app !== undefined && { app }) }, traits),
    needs.loginTimes.recordLogin(user.id, at).catch((err: unknown) => needs.warnOfUnrecorded({ err, requestId })),
  ])
  // A new token would end the trust.
  const keepsDevice = isKeptTrusted && !login.trustsBrowser
  const newDevice = keepsDevice ? null : needs.deviceTokens.issue(emailKey(user.email), device)
  if (login.trustsBrowser && newDevice !== null) await needs.trustedBrowsers?.trust(user, newDevice)
  const granted: LoginResult = { type: 'granted', issued, device: newDevice }
  const isHandled = needs.eventHandlers.handles('logged_in')
  const isNew = await isNewSignIn(needs, login)
  if (!isHandled && !isNew) return granted
  const by = login.by ?? loggedIn(user, issued.credential)
  const change = needs.changeUser.execute(user.id, (fresh) => {
    const metadata = () => eventMetadata(needs, login, by)
    const events: AccountEvent[] = [
      ...(isHandled ? [accountEvent('logged_in', fresh, metadata())] : []),
      ...(isNew ? [{ ...accountEvent('new_sign_in', fresh, metadata()), traits }] : []),
    ]
    return { type: 'replace', user: fresh, events }
  })
  await change.catch((thrown: unknown) => {
    if (!(thrown instanceof QueueFull)) throw thrown
    needs.warnOfDropped({ userId: jsonId(user.id), requestId: login.requestId })
  })
  return granted
}

/** Whether to tell the user of this login. The limit keeps a program without cookies from filling the mailbox. */
async function isNewSignIn(
  needs: CompleteLoginNeeds,
  { user, backend, caller, isRegistration }: Login,
): Promise<boolean> {
  if (!backend.isForBrowsers || isRegistration || caller === undefined) return false
  if (!needs.eventHandlers.handles('new_sign_in')) return false
  const account = emailKey(user.email)
  const isKnown = caller.device !== null && needs.deviceTokens.idOf(caller.device, account) !== null
  return !isKnown && (await needs.limits.mayTell('new_sign_in', account))
}
