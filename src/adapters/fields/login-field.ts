import Type from 'typebox'
import type { FieldSettings } from './field-schema.ts'

type Fields = Readonly<Record<string, FieldSettings>>

/** The backends of the settings, as far as they concern fields. */
export type LoginBackends = Readonly<Record<string, { readonly enabled: boolean; readonly loginBy: readonly string[] }>>

/** The setting `loginBy` of a backend. */
export const loginBySetting = Type.Array(Type.String({ minLength: 1, expects: '`email`, or the name of a field' }), {
  default: ['email'],
  description:
    'Names under which users log in: `email`, and with it one `unique` field of `users.fields`, whose values then hold no `@`.',
})

const address = 'email'

/** The field whose values users may type in place of their address; `null` if there is none. */
export function loginFieldOf({ loginBy }: { readonly loginBy: readonly string[] }): string | null {
  return loginBy.find((one) => one !== address) ?? null
}

/** The login fields of the enabled backends. */
export function loginFieldsOf(backends: LoginBackends): ReadonlySet<string> {
  const enabled = Object.values(backends).filter((backend) => backend.enabled)
  return new Set(enabled.flatMap((backend) => loginFieldOf(backend) ?? []))
}

/** The login field of a backend with its titles for people, by language. */
export function titledLoginField(
  backend: { readonly loginBy: readonly string[] },
  fields: Fields,
): { readonly name: string; readonly title: Readonly<Record<string, string>> } | null {
  const name = loginFieldOf(backend)
  return name === null ? null : { name, title: fields[name]?.title ?? {} }
}

/** The faults of the setting, with paths below the group of the backends. */
export function* objectionsToLogin(backends: LoginBackends, fields: Fields): Generator<readonly [string, string]> {
  for (const [backend, { enabled, loginBy }] of Object.entries(backends)) {
    const path = `${backend}.loginBy`
    const [name, ...others] = loginBy.filter((one) => one !== address)
    if (!enabled) continue
    if (!loginBy.includes(address)) yield [path, 'must have email: users who forget the other name need it']
    if (others.length > 0) yield [path, 'can have one field beside email: otherwise a name could belong to two users']
    if (name === undefined) continue
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined
    if (field === undefined) yield [path, `names ${name}, which is not declared in users.fields`]
    else if (field.type !== 'string' || field.format !== undefined || field.enum !== undefined) {
      yield [path, `names ${name}, which must be a string without format and enum`]
    } else if (!field.unique || field.caseSensitive) {
      yield [path, `names ${name}, which must be unique and not caseSensitive`]
    }
  }
}
