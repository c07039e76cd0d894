import Type, { type TSchema } from 'typebox'

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

/** Whether `text` is written exactly as browsers write an origin: `https://app.example.com`, no path, no slash. */
function isOrigin(text: string): boolean {
  if (!/^https?:/.test(text) || text.includes('*') || !URL.canParse(text)) return false
  return new URL(text).origin === text
}

const originExample = 'an origin as browsers write it (https://app.example.com: lower case, no path, no final /)'

export const origin = (options: Annotations) =>
  Type.Refine(Type.String({ expects: originExample, ...options }), (text) => isOrigin(text))

export const prefix = (options: Annotations) =>
  Type.String({
    pattern: '^(/(?!\\.{1,2}(/|$))[A-Za-z0-9._~-]+)+$',
    expects: 'a path such as /auth: a / before each part, none at the end, only letters, digits, - . _ ~',
    description: 'Path in front of the routes.',
    ...options,
  })

export const enabled = (description: string) => Type.Boolean({ default: true, description })

export const seconds = (standard: number, maximum: number, description: string) =>
  Type.Integer({ minimum: 1, maximum, default: standard, description })

export const page = (description: string, otherwise: string) =>
  Type.Optional(
    Type.Refine(
      Type.String({ expects: 'the address of a page: http or https, without #', otherwise, description }),
      (text) => /^https?:/.test(text) && URL.canParse(text) && new URL(text).hash === '',
    ),
  )
