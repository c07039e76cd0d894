import { expect } from 'chai'
import { fieldRulesOf } from '../../../src/adapters/fields/declared-fields.ts'
import { linearPattern } from '../../../src/adapters/fields/linear-pattern.ts'
import { asDeclared, noFields } from '../../../src/domain/fields.ts'
import { settingsFolder } from '../../support/services/settings.ts'

describe('declared fields', () => {
  const folder = settingsFolder()
  const text = { type: 'string' }
  const box = { type: 'boolean', enum: [true] }
  const faultsOf = (fields: object, others: object = {}) => folder.faults({ ...others, users: { fields } })

  const wrong: readonly (readonly [title: string, fields: object, path: string, words: string])[] = [
    ['a nested object', { address: { type: 'object', properties: {} } }, 'address.type', 'fields cannot be nested'],
    ['a list of numbers', { a: { type: 'array', items: { type: 'integer' } } }, 'a.items.type', 'lists hold texts'],
    ['items of a text', { a: { ...text, items: { type: 'string' } } }, 'a.items', 'string has no items'],
    ['an unknown keyword', { a: { ...text, patern: 'x' } }, 'a.patern', 'did you mean users.fields.a.pattern?'],
    ['a label', { a: { ...text, label: 'A' } }, 'a.label', 'write title: { "en": "First name" }'],
    ['required', { a: { ...text, required: true } }, 'a.required', 'write atRegistration: "required"'],
    ['a description', { a: { ...text, description: 'A' } }, 'a.description', 'a field has a title alone'],
    ['a placeholder', { a: { ...text, placeholder: 'A' } }, 'a.placeholder', 'a field has a title alone'],
    ['a reserved name', { is_active: { type: 'boolean' } }, 'is_active', 'is a name of Portcullis'],
    ['a reserved name in other letters', { currentPassword: text }, 'currentPassword', 'is a name of Portcullis'],
    ['a claim of JWTs', { sub: text }, 'sub', 'is a name of Portcullis'],
    ['a name of every object', { constructor: text }, 'constructor', 'is a name of Portcullis'],
    ['a name with other characters', { 'a.b': text }, 'a.b', 'the name must be'],
    ['two names that differ in case', { a: text, A: text }, 'A', 'differs from a only in case'],
    ['a claim that users write', { a: { ...text, claim: true } }, 'a.claim', 'needs readOnly'],
    [
      'a claim that users must not read',
      { a: { ...text, maxLength: 9, claim: true, readOnly: true, private: true } },
      'a.claim',
      'excludes private',
    ],
    [
      'claims that are too long',
      { a: { ...text, maxLength: 999, claim: true, readOnly: true } },
      'a.claim',
      'too long',
    ],
    [
      'a required field that nobody may write',
      { a: { ...text, readOnly: true, atRegistration: 'required' } },
      'a.atRegistration',
      'nobody could register',
    ],
    ['a private field that is unique', { a: { ...text, private: true, unique: true } }, 'a.private', 'excludes unique'],
    ['a unique boolean', { a: { type: 'boolean', unique: true } }, 'a.unique', 'is not possible'],
    ['a unique default', { a: { ...text, unique: true, default: 'x' } }, 'a.default', 'excludes unique'],
    ['a default that does not fit', { a: { type: 'integer', default: '7' } }, 'a.default', 'a valid integer'],
    ['a keyword of another type', { a: { type: 'boolean', pattern: 'x' } }, 'a.pattern', 'boolean has no pattern'],
    ['a box that nobody may tick', { a: { type: 'boolean', enum: [false] } }, 'a.enum', 'texts, or [true]'],
    ['a boolean of texts', { a: { type: 'boolean', enum: ['yes'] } }, 'a.enum', 'can only be [true]'],
    ['a text that is true', { a: { ...text, enum: ['a', true] } }, 'a.enum', 'can only have texts'],
    ['a box ticked by default', { a: { ...box, default: true } }, 'a.default', 'nobody would have ticked'],
    ['a link to a script', { a: { ...box, title: '[a](javascript:b)' } }, 'a.title.en', 'links to javascript:b'],
    ['a link without TLS', { a: { ...box, title: '[a](http://b.example)' } }, 'a.title.en', 'an https address'],
    ['a link to a path of a foreign host', { a: { ...box, title: '[a](//b.example)' } }, 'a.title.en', 'links to //b'],
    ['a pattern with a look-ahead', { a: { ...text, pattern: '^(?=x)y' } }, 'a.pattern', 'without look-around'],
    ['a pattern with a back-reference', { a: { ...text, pattern: '(a)\\1' } }, 'a.pattern', 'back-references'],
    ['a pattern of RE2 alone', { a: { ...text, pattern: '[[:alpha:]]' } }, 'a.pattern', 'that RE2 and browsers have'],
    ['a pattern for long texts', { a: { ...text, pattern: 'x', maxLength: 4096 } }, 'a.pattern', 'at most 1024'],
  ]
  for (const [title, fields, path, words] of wrong) {
    it(`refuse ${title} at the start, with the file and the field`, async () => {
      const faults = await faultsOf(fields)
      const found = faults.find((one) => one.path === `users.fields.${path}`)
      expect(found?.message, JSON.stringify(faults)).to.include(words)
      expect(found?.source).to.match(/^file .*portcullis\.config\.json$/)
    })
  }

  it('take one title for all languages', async () => {
    const { settings } = await folder.load({ users: { fields: { a: { ...text, title: 'First name' } } } })
    expect(settings.users.fields.a?.title).to.deep.equal({ en: 'First name' })
  })

  const name = { ...text, unique: true }
  const unfit: readonly (readonly [title: string, loginBy: string[], field: object, words: string])[] = [
    ['that leaves the address out', ['name'], name, 'must have email'],
    ['with two fields', ['email', 'name', 'other'], name, 'can have one field beside email'],
    ['that is not declared', ['email', 'nickname'], name, 'nickname, which is not declared'],
    ['that is not declared, but a name of every object', ['email', 'constructor'], name, 'which is not declared'],
    ['that is not unique', ['email', 'name'], text, 'must be unique'],
    ['that is case-sensitive', ['email', 'name'], { ...name, caseSensitive: true }, 'not caseSensitive'],
    ['that is a number', ['email', 'name'], { type: 'integer', unique: true }, 'must be a string'],
    ['that is a date', ['email', 'name'], { ...name, format: 'date' }, 'must be a string'],
  ]
  for (const [title, loginBy, field, words] of unfit) {
    it(`refuse a login name ${title}`, async () => {
      const faults = await faultsOf({ name: field, other: name }, { backends: { jwt: { loginBy } } })
      expect(faults.map(({ path }) => path)).to.deep.equal(['backends.jwt.loginBy'])
      expect(faults[0]?.message).to.include(words)
    })
  }

  it('allow a login name of a disabled backend to be anything', async () => {
    expect(await faultsOf({}, { backends: { jwt: { enabled: false, loginBy: ['name'] } } })).to.deep.equal([])
  })

  it('refuse __proto__', async () => {
    const faults = await folder.faults(JSON.parse('{"users":{"fields":{"__proto__":{"type":"string"}}}}'))
    expect(faults.map(({ path }) => path)).to.deep.equal(['users.fields.__proto__'])
  })

  it('refuse more than 50 fields', async () => {
    const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`f${at}`, text]))
    expect((await faultsOf(many(51))).map(({ path }) => path)).to.deep.equal(['users.fields'])
    expect((await folder.load({ users: { fields: many(50) } })).settings.users.fields).to.have.property('f49')
  })

  it('refuse a provider that fills a field which is read-only or not declared', async () => {
    const acme = {
      kind: 'oauth2',
      clientId: 'us',
      clientSecret: 'x',
      authorizeUrl: 'https://acme.example/a',
      tokenUrl: 'https://acme.example/t',
      profileUrl: 'https://acme.example/p',
      fields: { role: 'role', name: 'name' },
    }
    const faults = await faultsOf({ role: { ...text, readOnly: true } }, { providers: { acme } })
    expect(faults.map(({ path, message }) => [path, message])).to.deep.equal([
      ['providers.acme.fields.role', 'is read-only: people may choose their data at acme'],
      ['providers.acme.fields.name', 'is not declared in users.fields'],
    ])
  })

  it('allow the names that most programs use', async () => {
    const { settings } = await folder.load({ users: { fields: { name: text, username: text, role: text } } })
    expect(Object.keys(settings.users.fields)).to.deep.equal(['name', 'username', 'role'])
  })

  it('show an old record the default of a new field, and keep values that no longer fit', async () => {
    const { settings } = await folder.load({
      users: {
        fields: {
          plan: { type: 'string', enum: ['free', 'pro'], default: 'free' },
          age: { type: 'integer' },
          note: { type: 'string', private: true },
        },
      },
    })
    const stored = { ...noFields, shown: { plan: 'gold', age: 7, note: 'was public', gone: true } }
    expect(asDeclared(fieldRulesOf(settings.users), stored)).to.deep.equal({
      shown: { plan: 'free', age: 7 },
      hidden: { note: 'was public' },
      retired: { plan: 'gold', gone: true },
      keys: {},
    })
  })

  it('match a pattern in linear time', () => {
    const { matches } = linearPattern('^(a+)+$')
    const seconds = (text: string): number => {
      const start = performance.now()
      expect(matches(text)).to.equal(false)
      return (performance.now() - start) / 1000
    }
    seconds(`${'a'.repeat(1023)}b`)
    // V8 would take 2^1023 steps.
    expect(seconds(`${'a'.repeat(1023)}b`)).to.be.lessThan(2)
  })
})
