import Type, { type Static } from 'typebox'

/** The longest text, in characters. */
const longestText = 4096
const mostOptions = 100
const mostItems = 100

const size = (maximum: number, description: string, standard?: number) => {
  const options = { minimum: 0, maximum, description }
  return standard === undefined
    ? Type.Optional(Type.Integer({ ...options, otherwise: 'none' }))
    : Type.Integer({ ...options, default: standard })
}

const number = (description: string) =>
  Type.Optional(Type.Number({ minimum: -1e15, maximum: 1e15, otherwise: 'none', description }))

const ofTexts = {
  enum: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 255, expects: 'a text of 1 to 255 characters' }), {
      minItems: 1,
      maxItems: mostOptions,
      uniqueItems: true,
      expects: `a list of 1 to ${mostOptions} different texts`,
      otherwise: 'any text',
      description: 'The only texts.',
    }),
  ),
  pattern: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 500,
      expects: 'a regular expression of at most 500 characters',
      otherwise: 'none',
      description: 'Regular expression of RE2 and of ECMAScript that a text has to match.',
    }),
  ),
  minLength: size(longestText, 'Smallest number of characters.', 0),
  maxLength: Type.Integer({
    minimum: 1,
    maximum: longestText,
    default: 255,
    description: 'Largest number of characters. Patterns need at most 1024.',
  }),
}

const isText = (value: unknown): boolean => typeof value === 'string' && value !== '' && value.length <= 255

const option = Type.Unsafe<string | true>(
  Type.Refine(
    Type.Unknown({ expects: 'a text of 1 to 255 characters, or true' }),
    (value) => value === true || isText(value),
  ),
)

/** Words of other libraries for forms, with ours. */
const hints = {
  label: 'write title: { "en": "First name" }',
  required: 'write atRegistration: "required"',
  description: 'a field has a title alone: { "en": "First name" }',
  placeholder: 'a field has a title alone: { "en": "First name" }',
}

/** A field in the settings: keywords of JSON Schema, and our own. */
export const fieldSchema = Type.Object(
  {
    type: Type.Enum(['string', 'number', 'integer', 'boolean', 'array'], {
      expects: 'one of string, number, integer, boolean, array (of texts): fields cannot be nested',
      description: 'Type of the values.',
    }),
    title: Type.Record(
      Type.String({ pattern: '^[a-z]{2,8}(-[A-Za-z0-9]{1,8}){0,3}$' }),
      Type.String({
        minLength: 1,
        maxLength: 500,
        expects: 'a title of at most 500 characters',
        description:
          'Title for people, by language: `{ "en": "First name", "de": "Vorname" }`. It may have links: `I accept the [terms](https://example.com/terms)`.',
      }),
      { default: {}, expects: 'the tag of a language, such as en', textIs: 'en' },
    ),
    format: Type.Optional(
      Type.Enum(['date'], { otherwise: 'none', description: '`date`: a text such as `2024-12-31` (RFC 3339).' }),
    ),
    ...ofTexts,
    enum: Type.Optional(
      Type.Array(option, {
        minItems: 1,
        maxItems: mostOptions,
        uniqueItems: true,
        expects: `a list of 1 to ${mostOptions} different texts, or [true] for a boolean`,
        otherwise: 'any value',
        description: 'The only texts. `[true]` for a boolean: a box that people must tick.',
      }),
    ),
    minimum: number('Smallest number.'),
    maximum: number('Largest number.'),
    items: Type.Object({
      type: Type.Optional(
        Type.Enum(['string'], {
          expects: 'string: lists hold texts',
          otherwise: '`string`',
          description: 'Type of the items, as in JSON Schema.',
        }),
      ),
      ...ofTexts,
    }),
    maxItems: Type.Integer({ minimum: 1, maximum: mostItems, default: 20, description: 'Largest length of a list.' }),
    default: Type.Optional(Type.Unknown({ otherwise: 'none', description: 'Value of users who have none.' })),
    readOnly: Type.Boolean({ default: false, description: 'Only superusers, commands and programs write it.' }),
    private: Type.Boolean({ default: false, description: 'Only superusers, commands and programs read it.' }),
    unique: Type.Boolean({ default: false, description: 'No two users have the same value.' }),
    caseSensitive: Type.Boolean({
      default: false,
      description: 'Whether `Ada` and `ada` are two values of a unique field.',
    }),
    claim: Type.Boolean({ default: false, description: 'New JWTs have it as a claim. It needs `readOnly`.' }),
    atRegistration: Type.Enum(['required', 'optional', 'no'], {
      default: 'optional',
      description: 'Whether people who register give a value.',
    }),
  },
  { hints },
)

export type FieldSettings = Readonly<Static<typeof fieldSchema>>

/** The settings in `users`. */
export const fieldsSettings = {
  fields: Type.Record(Type.String({ pattern: '^[A-Za-z][A-Za-z0-9_]{0,62}$' }), fieldSchema, {
    expects: 'at most 63 letters, digits and _, a letter first',
    default: {},
  }),
  unknownFields: Type.Enum(['drop', 'refuse'], {
    default: 'drop',
    description:
      'Fields of a registration or a change that are not declared, or that users may not write: `drop` ignores them and logs each name once, `refuse` answers 422.',
  }),
}
