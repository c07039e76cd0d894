import type { TSchema } from 'typebox'

/**
 * What our schemas say beside JSON Schema. `expects` completes "must be …" in faults, `otherwise` names a
 * default that depends on other settings, `secret` is never printed and may come from a file, `byEntry` holds
 * settings below each of its names, which are judged apart, `nullIsNone` lets a file write `null` for none: what is
 * inherited can be left out in no other way.
 */
export interface Annotations {
  readonly description?: string
  readonly default?: unknown
  readonly expects?: string
  readonly otherwise?: string
  readonly secret?: boolean
  readonly byEntry?: boolean
  readonly nullIsNone?: boolean
  readonly minimum?: number
  readonly maximum?: number
}

export function annotations(schema: TSchema): Annotations {
  // Safe: TypeBox keeps options it does not know as given, and in src/config they are written as above.
  return schema as Annotations
}
