import { objectionsToFields } from './declared-fields.ts'
import type { FieldSettings } from './field-schema.ts'
import { type LoginBackends, objectionsToLogin } from './login-field.ts'

interface Settings {
  readonly users: { readonly fields: Readonly<Record<string, FieldSettings>> }
  readonly backends: LoginBackends
  readonly providers: Readonly<Record<string, { readonly enabled: boolean; readonly fields: object }>>
}

type Objection = readonly [path: string, message: string, involved?: readonly string[]]

/** The faults of all settings about fields. A fault of an involved setting may be the cause. */
export function* objectionsToFieldSettings({ users, backends, providers }: Settings): Generator<Objection> {
  const { fields } = users
  const involved = ['users.fields']
  for (const [path, message] of objectionsToFields(fields)) yield [`users.fields${path && `.${path}`}`, message]
  for (const [path, message] of objectionsToLogin(backends, fields)) yield [`backends.${path}`, message, involved]
  for (const [name, provider] of Object.entries(providers)) {
    if (!provider.enabled) continue
    for (const field of Object.keys(provider.fields)) {
      const path = `providers.${name}.fields.${field}`
      if (!Object.hasOwn(fields, field)) yield [path, 'is not declared in users.fields', involved]
      else if (fields[field]?.readOnly) yield [path, `is read-only: people may choose their data at ${name}`]
    }
  }
}
