import Type, { type TProperties, type TSchema } from 'typebox'
import type { RequestFacts } from '../../application/event-metadata.ts'
import type { By } from '../../application/sign-in/authenticate.ts'
import { isEmail } from '../../domain/email.ts'
import { isUserId } from '../../domain/ids.ts'
import { InvalidInput, Refusal } from '../../domain/refusal.ts'
import type { User } from '../../domain/user.ts'
import { objectionsBy } from './pipeline/validate.ts'
import { optional, text } from './schemas.ts'

/** The methods of a use case. */
export type Execute<UseCase> = Pick<UseCase, keyof UseCase>

/** For each use case, the function that adds its checks. */
export type Checks<UseCases> = { readonly [Name in keyof UseCases]: (useCase: UseCases[Name]) => UseCases[Name] }

interface Checkable<I, R> {
  execute(input: I): Promise<R>
}

/** `null`: not given. */
export const objectOf = (properties: TProperties) =>
  Type.Optional(Type.Unsafe({ type: ['object', 'null'], properties }))
const known = optional.text('Of the client')
export const request = {
  requestId: text('Of the request'),
  languages: Type.Optional(Type.Array(Type.String())),
  caller: objectOf({ client: known, device: known }),
  traits: objectOf({ network: known, browser: known, system: known }),
}

/** The properties of the body of a route, by the names in use cases. */
export function membersOf({ properties }: { readonly properties: TProperties }): Record<string, TSchema> {
  const camelCase = (name: string) => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
  return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [camelCase(name), schema]))
}

export function allChecked<UseCases extends object>(checks: Checks<UseCases>, useCases: UseCases): UseCases {
  const names = Object.keys(checks) as (keyof UseCases)[] // safe: it has exactly these names
  return Object.fromEntries(names.map((name) => [name, checks[name](useCases[name])])) as UseCases // safe: as above
}

/**
 * Checks the rights of an input, and then its members. The checks are constants, because compiling a schema takes milliseconds and
 * memory.
 */
export function checked<I extends object, R>(
  members: { readonly [Member in keyof NoInfer<I>]?: TSchema },
  requireRights: (input: NoInfer<I>) => void = () => undefined,
  given: (input: NoInfer<I>) => NoInfer<I> = (input) => input,
): (useCase: Checkable<I, R>) => Checkable<I, R> {
  const requireMembers = requiring(members as TProperties) // safe: each value is a schema
  return (useCase) => ({
    async execute(input) {
      requireRights(input)
      requireMembers(input)
      return await useCase.execute(given(withoutNull(input)))
    },
  })
}

export function requiring(members: TProperties): (input: object) => void {
  const objectionTo = objectionsBy(Type.Object(members))
  return (input: { readonly email?: unknown }) => {
    const objection = objectionTo(input)
    if (objection !== null) throw new InvalidInput(objection.field, objection.problem)
    if ('email' in members && input.email != null && !isEmail(input.email)) {
      throw new InvalidInput('email', 'must be an address as parseEmail returns it')
    }
  }
}

/** As on the routes, `null` means that a member is not given. */
export function withoutNull<I extends object>(input: I): I {
  const given = {
    ...input,
    ...Object.fromEntries(Object.entries(input).map(([name, value]) => [name, value ?? undefined])),
  }
  const { caller, traits } = given as Partial<RequestFacts> // safe: each member is checked
  const { client = null, device = null } = caller ?? {}
  const { network = null, browser = null, system = null } = traits ?? {}
  return {
    ...given,
    ...(caller && { caller: { client, device } }),
    ...(traits && { traits: { network, browser, system } }),
  }
}

/** Checks that the credential belongs to the acting user. `Authenticate` returns `null` if there is no credential. */
export function requireAuthenticated(value: unknown): void {
  const { user, credential } = (value ?? {}) as { user?: Given; credential?: Given } // safe: each field is checked
  const isTheirs = isUserId(user?.id) && credential?.userId === user.id
  if (!isTheirs || typeof credential.id !== 'string' || !(credential.expiresAt instanceof Date)) {
    throw new Refusal('UNAUTHORIZED')
  }
}

type Given = { readonly id?: unknown; readonly userId?: unknown; readonly expiresAt?: unknown }

export function requireActor({ by }: { by: By }): void {
  if (by?.type === undefined) requireAuthenticated(by)
}

/** Checks who acts, and on which user. Only superusers may learn whether there is such a user. */
export function requireActorAndTarget({ by, target }: { by: By; target?: User }): void {
  requireActor({ by })
  if (isUserId(target?.id)) return
  throw new Refusal(by.type !== undefined || by.user.isSuperuser ? 'NOT_FOUND' : 'FORBIDDEN')
}
