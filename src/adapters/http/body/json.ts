import { parseJson, repeatedMembers } from '../../../lib/json-text.ts'
import { Invalid } from '../errors.ts'
import type { Fields, RawBody } from './raw-body.ts'

const maxLevels = 32

export function jsonFields(text: string): RawBody {
  const parsed = parseJson(text)
  if ('offset' in parsed) throw invalid(parsed.offset ?? 0, 'Expecting a JSON value')
  const { value } = parsed
  if (isDeeper(value, maxLevels)) throw invalid(0, `More than ${maxLevels} levels`)
  if (value === null) return { type: 'absent' }
  if (typeof value !== 'object' || Array.isArray(value)) return { type: 'not_an_object' }
  // A proxy in front may have checked the other one of two fields with the same name.
  const repeated = repeatedMembers(text).flatMap((path) => (path.length === 1 ? path : []))
  return { type: 'fields', fields: value as Fields, repeated: new Set(repeated) } // safe: an object of JSON.parse
}

function invalid(offset: number, error: string): Invalid {
  return new Invalid([{ type: 'json_invalid', loc: ['body', offset], msg: 'JSON decode error', ctx: { error } }])
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((member) => isDeeper(member, levels - 1))
}
