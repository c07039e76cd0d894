import { type Field, type FieldValue, faultOf, type Pattern } from '../../domain/field.ts'
import type { FieldRules } from '../../domain/fields.ts'
import { isLinkAddress, partsOf } from '../../lib/linked-text.ts'
import type { FieldSettings } from './field-schema.ts'
import { linearPattern } from './linear-pattern.ts'
import { type LoginBackends, loginFieldsOf } from './login-field.ts'
import { isReserved } from './reserved-names.ts'

interface Settings {
  readonly fields: Readonly<Record<string, FieldSettings>>
  readonly unknownFields: 'drop' | 'refuse'
}

type Objection = readonly [path: string, message: string]

const mostFields = 50
/** The text of a pattern is bounded, too, because even linear time has a factor. */
const longestMatched = 1024
/** Claims are in every request, and proxies refuse headers of more than 8 KiB. */
const mostClaimBytes = 2048

/** The rules of one set of settings. Tenants with the same fields share them, because a compiled pattern takes memory. */
const known = new Map<string, FieldRules>()

/** The rules of fields without an objection. */
export function fieldRulesOf({ fields, unknownFields }: Settings, backends: LoginBackends = {}): FieldRules {
  const loginFields = loginFieldsOf(backends)
  const key = JSON.stringify([fields, unknownFields, [...loginFields]])
  const rules = known.get(key) ?? {
    fields: new Map(
      Object.entries(fields).map(([name, given]) => {
        const field = fieldOf(name, given, patternOf(given))
        return [name, { ...field, isLoginName: loginFields.has(name) }]
      }),
    ),
    refusesUnknown: unknownFields === 'refuse',
  }
  known.set(key, rules)
  return rules
}

/** The names of the claims that new JWTs have. */
export function claimsOf({ fields }: FieldRules): readonly string[] {
  return [...fields.values()].filter(({ isClaim }) => isClaim).map(({ name }) => name)
}

/** The faults of declared fields, with paths below the group of the fields. */
export function* objectionsToFields(fields: Settings['fields']): Generator<Objection> {
  const names = Object.keys(fields)
  if (names.length > mostFields) yield ['', `has ${names.length} fields; at most ${mostFields} are possible`]
  const plain = new Map<string, string>()
  for (const [name, given] of Object.entries(fields)) {
    const other = plain.get(name.toLowerCase())
    if (other !== undefined) yield [name, `differs from ${other} only in case`]
    plain.set(name.toLowerCase(), name)
    if (isReserved(name)) yield [name, 'is a name of Portcullis: choose another one']
    for (const [keyword, message] of objectionsToField(name, given)) yield [`${name}.${keyword}`, message]
  }
  const bytes = Object.entries(fields).reduce((sum, [name, given]) => sum + claimBytes(name, given), 0)
  if (bytes > mostClaimBytes) {
    const claims = names.filter((name) => fields[name]?.claim)
    yield [
      `${claims.at(-1)}.claim`,
      `makes a JWT too long: the claims may have ${bytes} bytes, and ${mostClaimBytes} are possible; lower maxLength`,
    ]
  }
}

function* objectionsToField(name: string, given: FieldSettings): Generator<Objection> {
  const { type, readOnly, claim, unique, atRegistration } = given
  for (const keyword of foreignTo(given)) yield [keyword, `must not be given: ${type} has no ${keyword}`]
  yield* objectionsToTitles(given)
  if (type === 'boolean' && given.enum !== undefined && !mustBeTrue(given)) {
    yield ['enum', 'can only be [true] for a boolean: a box that people must tick']
  }
  if (type === 'string' && given.enum?.includes(true)) yield ['enum', 'can only have texts: [true] is for a boolean']
  if (mustBeTrue(given) && given.default !== undefined) {
    yield ['default', 'excludes enum: [true], because nobody would have ticked the box']
  }
  if (claim && !readOnly) yield ['claim', 'needs readOnly, because users must not choose their own claims']
  if (claim && given.private) yield ['claim', 'excludes private, because users can read their tokens']
  if (readOnly && atRegistration === 'required') {
    yield ['atRegistration', 'cannot be required with readOnly, because nobody could register']
  }
  if (given.private && unique) {
    yield ['private', 'excludes unique, because a registration would tell whether a user has a value']
  }
  if (unique && (type === 'boolean' || type === 'array')) yield ['unique', `is not possible for ${type}`]
  if (unique && given.default !== undefined) yield ['default', 'excludes unique, because all users would share it']
  const [low, high] = [textsOf(given).minLength, textsOf(given).maxLength]
  if (low > high) yield ['minLength', 'is larger than maxLength']
  if ((given.minimum ?? 0) > (given.maximum ?? given.minimum ?? 0)) yield ['minimum', 'is larger than maximum']
  const path = type === 'array' ? 'items.pattern' : 'pattern'
  if (textsOf(given).pattern !== undefined && high > longestMatched) {
    yield [path, `needs maxLength of at most ${longestMatched}`]
  }
  let pattern: Pattern | null
  try {
    pattern = patternOf(given)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    yield [
      path,
      `must be a regular expression that RE2 and browsers have, without look-around and back-references: ${reason}`,
    ]
    return
  }
  if (given.default === undefined || given.default === null) return
  const found = faultOf(fieldOf(name, given, pattern), given.default)
  if (found !== null) yield ['default', `does not fit: ${found.msg}`]
}

function* objectionsToTitles({ title }: FieldSettings): Generator<Objection> {
  for (const [language, text] of Object.entries(title)) {
    const wrong = partsOf(text).find(({ address }) => address !== null && !isLinkAddress(address))
    if (wrong !== undefined) {
      yield [`title.${language}`, `links to ${wrong.address}: a link has an https address, or a path such as /terms`]
    }
  }
}

function mustBeTrue({ type, enum: options }: FieldSettings): boolean {
  return type === 'boolean' && options?.length === 1 && options[0] === true
}

/** The given keywords that the type of a field does not have. */
function foreignTo(given: FieldSettings): string[] {
  const isText = given.type === 'string' && given.format === undefined
  const isNumber = given.type === 'number' || given.type === 'integer'
  const { enum: options, pattern, minimum, maximum, items } = given
  return [
    ...(given.format !== undefined && given.type !== 'string' ? ['format'] : []),
    ...(!isText && given.type !== 'boolean' && options !== undefined ? ['enum'] : []),
    ...(!isText && pattern !== undefined ? ['pattern'] : []),
    ...(!isText && given.minLength !== 0 ? ['minLength'] : []),
    ...(!isText && given.maxLength !== 255 ? ['maxLength'] : []),
    ...(!isNumber && minimum !== undefined ? ['minimum'] : []),
    ...(!isNumber && maximum !== undefined ? ['maximum'] : []),
    ...(given.type !== 'array' && (items.type ?? items.enum ?? items.pattern) !== undefined ? ['items'] : []),
  ]
}

function textsOf(given: FieldSettings) {
  return given.type === 'array' ? given.items : given
}

function patternOf(given: FieldSettings): Pattern | null {
  const { pattern } = textsOf(given)
  return pattern === undefined ? null : linearPattern(pattern)
}

function fieldOf(name: string, given: FieldSettings, pattern: Pattern | null): Field {
  const { type, format, unique, caseSensitive } = given
  const texts = textsOf(given)
  const isText = type === 'string' && format === undefined
  return {
    name,
    type: type === 'array' ? 'list' : format === 'date' ? 'date' : type,
    title: given.title,
    options: type === 'boolean' ? null : (texts.enum?.map(String) ?? null),
    mustBeTrue: mustBeTrue(given),
    // An empty text gives no value.
    minLength: Math.max(texts.minLength ?? 0, isText && given.atRegistration === 'required' ? 1 : 0),
    maxLength: texts.maxLength,
    // An empty list gives no value, either.
    minItems: given.atRegistration === 'required' ? 1 : 0,
    maxItems: given.maxItems,
    minimum: given.minimum ?? Number.NEGATIVE_INFINITY,
    maximum: given.maximum ?? Number.POSITIVE_INFINITY,
    pattern,
    default: (given.default ?? null) as FieldValue, // safe: a default without a fault
    isReadOnly: given.readOnly,
    isPrivate: given.private,
    unique: !unique ? null : caseSensitive ? 'exact' : 'ignore_case',
    isLoginName: false,
    isClaim: given.claim,
    atRegistration: given.atRegistration,
  }
}

/** The largest size of a claim in a token. */
function claimBytes(name: string, given: FieldSettings): number {
  if (!given.claim) return 0
  const { enum: options, maxLength } = textsOf(given)
  const longest = options === undefined ? 4 * maxLength : Math.max(...options.map((one) => 4 * String(one).length))
  const sizes = { string: longest, array: longest * given.maxItems, number: 24, integer: 24, boolean: 5 }
  return name.length + 4 + (given.format === 'date' ? 12 : sizes[given.type])
}
