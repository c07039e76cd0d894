import { noFields, type UserFields } from '../../domain/fields.ts'

/** Reads the JSON of a user's fields; `null` for a user without any. */
export function parseFields(json: string | null): UserFields {
  return json === null ? noFields : JSON.parse(json) // safe: a store writes fields there and nothing else
}

export function fieldsJson(fields: UserFields): string | null {
  return Object.values(fields).every((part) => Object.keys(part).length === 0) ? null : JSON.stringify(fields)
}
