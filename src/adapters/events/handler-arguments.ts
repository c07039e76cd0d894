import type { HandlerContext } from '../../application/ports/event-handlers.ts'
import type { ActorWithoutLogin } from '../../domain/actor.ts'
import type { Email } from '../../domain/email.ts'
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

/** `is_active` of `isActive`. */
type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : ''

type WireValue<Value> = Value extends LinkChange ? WireLink : Value extends Email ? string : Value

type OwnChanges = Omit<UserChanges, 'fields'>

/** The changes of `UserChanges`, which explains them, by the names of the HTTP answers. */
type WireOwnChanges = { readonly [Name in keyof OwnChanges as SnakeCase<Name>]: WireValue<OwnChanges[Name]> }

/**
 * The changed fields with their new values, also those that the deployer declares; `password: true` stands for a new
 * password.
 */
export interface WireChanges extends WireOwnChanges, ChangedFields<WireLink> {}

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

export function wireChanges({ fields, ...changes }: UserChanges): WireChanges {
  const own = Object.entries(changes).map(([name, value]) => {
    const wireName = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    return [wireName, typeof value === 'object' && value !== null ? wireLink(value) : value] as const
  })
  // Safe: `SnakeCase` makes the same names.
  return { ...Object.fromEntries(own.filter(([, value]) => value !== undefined)), ...fields }
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
