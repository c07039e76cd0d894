import type { FieldValues } from './field.ts'

/**
 * The types of the fields in `users.fields`, except private ones. They are empty here, and each program may add its own:
 * `declare module 'portcullis' { interface OwnFields { first_name: string | null } }`. Then the compiler knows no other fields.
 */
export interface OwnFields {}

/** The types of the private fields, in the same way. */
export interface PrivateFields {}

type AllFields = OwnFields & PrivateFields
type AreTyped = [keyof AllFields] extends [never] ? false : true

/** The values that users may read. */
export type ShownFields = AreTyped extends true ? Readonly<OwnFields> : FieldValues

/** The values for superusers and programs alone. */
export type HiddenFields = AreTyped extends true ? Readonly<PrivateFields> : FieldValues

/** The values that a registration or a change gives. `null` takes a value away, and `undefined` counts as not given. */
export type GivenFields = AreTyped extends true
  ? { readonly [F in keyof AllFields]?: AllFields[F] | null | undefined }
  : Readonly<Record<string, unknown>>

/** New values beside members of other types `T`. */
export type ChangedFields<T> = AreTyped extends true
  ? Partial<Readonly<OwnFields>>
  : Readonly<Record<string, FieldValues[string] | T | undefined>>
