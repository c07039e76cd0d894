import { parseJson, repeatedMembers } from '../../../lib/json-text.ts'
import { Invalid } from '../errors.ts'
import type { Fields, RawBody } from './raw-body.ts'

export function jsonFields(text: string): RawBody {
  const parsed = parseJson(text)
  if ('offset' in parsed) throw malformed(parsed.offset ?? 0)
  const { value } = parsed
  if (value === null) return { type: 'absent' }
  if (typeof value !== 'object' || Array.isArray(value)) return { type: 'not_an_object' }
  // A proxy in front may have checked the other one of two fields with the same name.
  const repeated = repeatedMembers(text, 1).flat()
  return { type: 'fields', fields: value as Fields, repeated: new Set(repeated) } // safe: an object of JSON.parse
}

function malformed(offset: number): Invalid {
  const ctx = { error: 'Expecting a JSON value' }
  return new Invalid([{ type: 'json_invalid', loc: ['body', offset], msg: 'JSON decode error', ctx }])
}
