import { Unreadable } from '../errors.ts'

export type Fields = Readonly<Record<string, unknown>>

/** `wanted`: the body has another content type than the route takes, which is named here. */
export type RawBody =
  | { readonly type: 'absent' }
  | { readonly type: 'not_an_object'; readonly wanted?: string }
  | RawFields

export interface RawFields {
  readonly type: 'fields'
  readonly fields: Fields
  readonly repeated: ReadonlySet<string>
  readonly wanted?: string
}

export function unparsable(): Unreadable {
  return new Unreadable(400, 'There was an error parsing the body')
}

/** Refuses bytes that are not UTF-8: replacing them would make two passwords equal. */
export function utf8(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw unparsable()
  }
}
