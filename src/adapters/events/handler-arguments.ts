import type { HandlerContext } from '../../application/ports/event-handlers.ts'
import type { ActorWithoutLogin } from '../../domain/actor.ts'
import type { LinkChange, UserChanges } from '../../domain/events.ts'
import type { ChangedFields, ShownFields } from '../../domain/field-types.ts'
import { jsonId } from '../../domain/ids.ts'
import type { ClientTraits } from '../../domain/session.ts'
import type { UserView } from '../../domain/user.ts'

/**
 * A user in the arguments of a handler: the five fields of the HTTP answers, in their order, and then those that the deployer
 * declares, except private ones.
 */
export interface WireUser extends ShownFields {
  /** A number if `ids` is `integer`. */
  readonly id: string | number
  readonly email: string
  readonly is_active: boolean
  readonly is_superuser: boolean
  readonly is_verified: boolean
}

/** A link to an account at a provider, by the names of the HTTP answers. */
interface WireLink {
  readonly oauth_name: string
  readonly account_email: string
}

/**
 * The changed fields with their new values, also those that the deployer declares; `password: true` stands for a new
 * password.
 */
export interface WireChanges extends ChangedFields<WireLink> {
  readonly email?: string
  /** The previous address. Present if and only if `email` is. */
  readonly previous_email?: string
  readonly password?: true
  /** The password was removed, because it was not known to be the owner's. */
  readonly password_removed?: true
  readonly is_active?: boolean
  /** When the deactivation ends by itself, ISO 8601; `null` if it no longer does. */
  readonly inactive_until?: string | null
  readonly inactive_reason?: string
  readonly is_superuser?: boolean
  readonly is_verified?: boolean
  /** The user or a superuser ended all logins, on every device. */
  readonly logged_out_everywhere?: true
  readonly oauth_linked?: WireLink
  readonly oauth_unlinked?: WireLink
  readonly factor_added?: 'totp' | 'passkey'
  /** The recovery codes go with the last one. */
  readonly factor_removed?: 'totp' | 'passkey' | 'all'
  /** The new name of a passkey. */
  readonly passkey_renamed?: string
  /** The counter of a passkey went back: a copy of it may exist. */
  readonly passkey_counter_went_back?: true
  readonly recovery_codes_renewed?: true
  /** A login used up a recovery code. The number is that of the codes that are left. */
  readonly recovery_code_used?: number
  /** The reset of the second factors was stopped, so they stay. */
  readonly factors_kept?: true
}

export function wireUser(user: UserView): WireUser {
  return {
    id: jsonId(user.id),
    email: user.email,
    is_active: user.isActive,
    is_superuser: user.isSuperuser,
    is_verified: user.isVerified,
    ...user.fields, // none in an event of an earlier release
  }
}

export function wireChanges(changes: UserChanges): WireChanges {
  return {
    ...(changes.email !== undefined && { email: changes.email }),
    ...(changes.previousEmail !== undefined && { previous_email: changes.previousEmail }),
    ...(changes.password !== undefined && { password: changes.password }),
    ...(changes.passwordRemoved !== undefined && { password_removed: changes.passwordRemoved }),
    ...(changes.isActive !== undefined && { is_active: changes.isActive }),
    ...(changes.inactiveUntil !== undefined && { inactive_until: changes.inactiveUntil }),
    ...(changes.inactiveReason !== undefined && { inactive_reason: changes.inactiveReason }),
    ...(changes.isSuperuser !== undefined && { is_superuser: changes.isSuperuser }),
    ...(changes.isVerified !== undefined && { is_verified: changes.isVerified }),
    ...(changes.loggedOutEverywhere !== undefined && { logged_out_everywhere: changes.loggedOutEverywhere }),
    ...(changes.oauthLinked !== undefined && { oauth_linked: wireLink(changes.oauthLinked) }),
    ...(changes.oauthUnlinked !== undefined && { oauth_unlinked: wireLink(changes.oauthUnlinked) }),
    ...(changes.factorAdded !== undefined && { factor_added: changes.factorAdded }),
    ...(changes.factorRemoved !== undefined && { factor_removed: changes.factorRemoved }),
    ...(changes.passkeyRenamed !== undefined && { passkey_renamed: changes.passkeyRenamed }),
    ...(changes.passkeyCounterWentBack !== undefined && { passkey_counter_went_back: changes.passkeyCounterWentBack }),
    ...(changes.recoveryCodesRenewed !== undefined && { recovery_codes_renewed: changes.recoveryCodesRenewed }),
    ...(changes.recoveryCodeUsed !== undefined && { recovery_code_used: changes.recoveryCodeUsed }),
    ...(changes.factorsKept !== undefined && { factors_kept: changes.factorsKept }),
    ...changes.fields,
  }
}

/** The client of a sign-in, by the names of the HTTP answers. `null`: unknown. */
export type WireTraits = ClientTraits

export function wireTraits({ network, browser, system }: ClientTraits): WireTraits {
  return { network, browser, system }
}

/** The last argument of a handler. */
export interface WireContext extends Omit<HandlerContext, 'by'> {
  readonly by: WireActor
}

/** The actor, with the id as `WireUser` has it. */
export type WireActor =
  | { readonly type: 'user' | 'superuser'; readonly id: string | number; readonly sid: string | null }
  | ActorWithoutLogin

export function wireContext({ by, ...context }: HandlerContext): WireContext {
  return { ...context, by: 'id' in by ? { ...by, id: jsonId(by.id) } : by }
}

function wireLink({ provider, accountEmail }: LinkChange): WireLink {
  return { oauth_name: provider, account_email: accountEmail }
}
