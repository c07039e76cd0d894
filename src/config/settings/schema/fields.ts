import Type, { type TSchema } from 'typebox'
import { isAppOrigin, isOrigin } from '../../../lib/origins.ts'

/** The annotations of our schemas. */
interface Annotations {
  readonly description?: string
  readonly default?: unknown
  /** The default in the profile `hardened`, if it differs. */
  readonly hardened?: { readonly value: unknown; readonly because: string }
  /** The default with `compat.preset: "fastapi-users"`, if it differs. */
  readonly fastapiUsers?: unknown
  /** Completes "must be …" in a fault. */
  readonly expects?: string
  /** Describes a default that depends on other settings. */
  readonly otherwise?: string
  /** The value is never printed. An `address` is printed without its user, password and query values. Both may come from a file. */
  readonly secret?: true | 'address'
  /** A record whose entries are validated separately. */
  readonly byEntry?: boolean
  /** `null` in a file means none. A tenant can remove an inherited value in no other way. */
  readonly nullIsNone?: boolean
  /** The kind of a union if none is given, or the path of another union that has the same kind. */
  readonly usualKind?: string
  readonly usualKindOf?: string
  /** A text for a record stands for this entry. */
  readonly textIs?: string
  /** What to write instead of members that a group does not have. */
  readonly hints?: Readonly<Record<string, string>>
  readonly minimum?: number
  readonly maximum?: number
}

export function annotations(schema: TSchema): Annotations {
  // Safe: TypeBox keeps unknown options, and our schemas use only these.
  return schema as Annotations
}

const originExample = 'an origin as browsers write it (https://app.example.com: lower case, no path, no final /)'

const pathForm = '(/(?!\\.{1,2}(/|$))[A-Za-z0-9._~-]+)'

/** An origin, perhaps with a path. */
export const address = (options: Annotations) =>
  Type.Refine(
    Type.String({
      expects:
        'an origin as browsers write it (https://app.example.com: lower case, no final /), perhaps with a path of letters, digits, - . _ ~ (https://example.com/accounts)',
      ...options,
    }),
    (text) => {
      const { origin = '', path = '' } = /^(?<origin>[a-z]+:\/\/[^/]*)(?<path>.*)$/s.exec(text)?.groups ?? {}
      return isOrigin(origin) && new RegExp(`^${pathForm}*$`).test(path)
    },
  )

/** The origin of a front end, which may be an app. */
export const frontEnd = () =>
  Type.Refine(
    Type.String({ expects: `${originExample}, or of an app (capacitor://localhost, android:apk-key-hash:…)` }),
    (text) => isOrigin(text) || isAppOrigin(text),
  )

export const prefix = (options: Annotations) =>
  Type.String({
    pattern: `^${pathForm}+$`,
    expects: 'a path such as /auth: a / before each part, none at the end, only letters, digits, - . _ ~',
    description: 'Path in front of the routes.',
    ...options,
  })

export const host = (description: string) =>
  Type.String({
    pattern: '^([A-Za-z0-9_.-]+|[0-9A-Fa-f:.]+(%[A-Za-z0-9]+)?)$',
    expects: 'a host name or an IP address, without port and brackets',
    default: '127.0.0.1',
    description,
  })

export const enabled = (description: string, options: Annotations = {}) =>
  Type.Boolean({ default: true, description, ...options })

export const verifiedOnly = (description: string) => Type.Boolean({ default: false, description })

export const seconds = (standard: number, maximum: number, description: string) =>
  Type.Integer({ minimum: 1, maximum, default: standard, description })

export const page = (description: string, otherwise: string) =>
  Type.Optional(
    Type.Refine(
      Type.String({ expects: 'the address of a page: http or https, without #', otherwise, description }),
      (text) => /^https?:/.test(text) && URL.canParse(text) && new URL(text).hash === '',
    ),
  )
