import { expect } from 'chai'
import jsonwebtoken from 'jsonwebtoken'
import { anAddress, invalid, missing, refused, repeated, seen } from '../support/http/answers.ts'
import { call, goodPassword, logIn } from '../support/http/client.ts'
import { firstSuperuser } from '../support/scenes/first-superuser.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

const fields = {
  first_name: { type: 'string', maxLength: 20, title: { en: 'First name' }, atRegistration: 'required' },
  username: { type: 'string', pattern: '^[A-Za-z0-9_]+$', unique: true },
  birthday: { type: 'string', format: 'date' },
  newsletter: { type: 'boolean', default: false },
  age: { type: 'integer', minimum: 0, maximum: 150 },
  height: { type: 'number' },
  tags: { type: 'array', maxItems: 2, items: { maxLength: 5 } },
  role: { type: 'string', enum: ['member', 'admin'], default: 'member', readOnly: true, claim: true },
  note: { type: 'string', readOnly: true, private: true },
  taxNumber: { type: 'string', private: true, atRegistration: 'no' },
}

const withSettings = (users: object) => ({ files: { 'portcullis.config.json': { users } } })

const shown = {
  first_name: 'Ada',
  username: null,
  birthday: null,
  newsletter: false,
  age: null,
  height: null,
  tags: null,
  role: 'member',
}

describe('fields of the deployer’s own', () => {
  let service: TestService
  let admin: string
  before(async () => {
    service = await startTestService({}, withSettings({ fields }))
    admin = await firstSuperuser(service)
  })
  after(() => service.stop())

  const post = (json: object, url = service.url) =>
    call(url, 'POST', '/auth/register', { json: { email: anAddress(), password: goodPassword, ...json } })
  const patchMe = (bearer: string, json: unknown) => call(service.url, 'PATCH', '/users/me', { bearer, json })
  const patch = (id: string, json: unknown) => call(service.url, 'PATCH', `/users/${id}`, { bearer: admin, json })
  const get = (path: string, bearer: string) => call(service.url, 'GET', path, { bearer })
  const fault = (type: string, name: string, msg: string, ctx?: object) => ({
    type,
    loc: ['body', name],
    msg,
    ...(ctx && { ctx }),
  })

  it('come with a user whom a superuser creates, read-only ones too, none required, and no others', async () => {
    const create = (json: object) =>
      call(service.url, 'POST', '/users', { bearer: admin, json: { email: anAddress(), invite: true, ...json } })
    const own = { first_name: 'Ada', username: 'created', role: 'admin', note: 'VIP', taxNumber: '7' }
    const created = await create(own)
    expect(created.status).to.equal(201)
    expect(created.body).to.deep.include(own)
    expect((await create({})).body).to.include({ first_name: null })
    const unknown = fault('extra_forbidden', 'first_nam', 'Extra inputs are not permitted')
    expect(seen(await create({ ...own, username: 'other', first_nam: 'A' }))).to.deep.equal(invalid(unknown))
    const taken = refused(400, { code: 'REGISTER_FIELD_ALREADY_EXISTS', reason: 'username' })
    expect(seen(await create(own))).to.deep.equal(taken)
  })

  let counter = 0
  async function someone(own: object = {}) {
    const email = anAddress()
    const answer = await post({ email, first_name: 'Ada', ...own })
    expect(answer.status, JSON.stringify(answer.body)).to.equal(201)
    const { id } = answer.body as { id: string } // safe: the status is 201
    return { id, email, bearer: await logIn(service.url, email) }
  }
  const aName = () => `Name_${counter++}`

  it('stand beside the address in every answer, with their defaults', async () => {
    const { id, email, bearer } = await someone()
    const user = { id, email, is_active: true, is_superuser: false, is_verified: false, ...shown }
    expect(seen(await get('/users/me', bearer))).to.deep.equal({ status: 200, body: user })
    expect(seen(await patchMe(bearer, { birthday: '2024-02-29', tags: ['a', 'ü'], height: -1.5 }))).to.deep.equal({
      status: 200,
      body: { ...user, birthday: '2024-02-29', tags: ['a', 'ü'], height: -1.5 },
    })
    const order = async (answer: Promise<{ body: unknown }>) => Object.keys((await answer).body as object)
    expect(await order(patchMe(bearer, { birthday: '2024-02-28' }))).to.deep.equal(
      await order(get('/users/me', bearer)),
    )
    expect(seen(await patchMe(bearer, { birthday: null, tags: null, height: null, newsletter: true }))).to.deep.equal({
      status: 200,
      body: { ...user, newsletter: true },
    })
  })

  it('are refused with every fault in one answer, beside those of our own fields', async () => {
    expect(seen(await post({ email: undefined, age: '7', newsletter: 'yes' }))).to.deep.equal(
      invalid(
        missing('email'),
        fault('missing', 'first_name', 'Field required'),
        fault('bool_type', 'newsletter', 'Input should be a valid boolean'),
        fault('int_type', 'age', 'Input should be a valid integer'),
      ),
    )
    const tooShort = fault('string_too_short', 'first_name', 'String should have at least 1 character', {
      min_length: 1,
    })
    expect(seen(await post({ first_name: '' }))).to.deep.equal(invalid(tooShort))
    const { bearer } = await someone()
    for (const [json, ...detail] of [
      [{ first_name: '' }, tooShort],
      [{ first_name: null }, fault('string_type', 'first_name', 'Input should be a valid string')],
      [
        { first_name: 'x'.repeat(21) },
        fault('string_too_long', 'first_name', 'String should have at most 20 characters', { max_length: 20 }),
      ],
      [
        { username: 'a b' },
        fault('string_pattern_mismatch', 'username', "String should match pattern '^[A-Za-z0-9_]+$'", {
          pattern: '^[A-Za-z0-9_]+$',
        }),
      ],
      [
        { birthday: '2023-02-29' },
        fault('date_parsing', 'birthday', 'Input should be a valid date in the format YYYY-MM-DD'),
      ],
      [{ age: 151 }, fault('less_than_equal', 'age', 'Input should be less than or equal to 150', { le: 150 })],
      [{ height: 'x' }, fault('float_type', 'height', 'Input should be a valid number')],
      [{ first_name: '\u0000' }, fault('string_type', 'first_name', 'Input should be a valid string')],
      [{ tags: ['a', 7] }, { type: 'string_type', loc: ['body', 'tags', 1], msg: 'Input should be a valid string' }],
      [{ tags: { a: 1 } }, fault('list_type', 'tags', 'Input should be a valid list')],
    ] as const) {
      expect(seen(await patchMe(bearer, json)), JSON.stringify(json)).to.deep.equal(invalid(...detail))
    }
  })

  it('that are read-only or private are written and read by superusers alone', async () => {
    const { id, email, bearer } = await someone({ role: 'admin', note: 'mine', taxNumber: 'early' })
    const user = { id, email, is_active: true, is_superuser: false, is_verified: false, ...shown }
    expect(seen(await patchMe(bearer, { role: 'admin', note: 'mine', taxNumber: '1234' }))).to.deep.equal({
      status: 200,
      body: user,
    })
    const forSuperusers = { ...user, note: null, taxNumber: '1234' }
    expect(seen(await get(`/users/${id}`, admin))).to.deep.equal({ status: 200, body: forSuperusers })
    expect(seen(await patch(id, { role: 'admin', note: 'watch' }))).to.deep.equal({
      status: 200,
      body: { ...forSuperusers, role: 'admin', note: 'watch' },
    })
    expect(seen(await get('/users/me', bearer))).to.deep.equal({ status: 200, body: { ...user, role: 'admin' } })
    expect(seen(await patch(id, { role: 'owner' }))).to.deep.equal(
      invalid(fault('enum', 'role', "Input should be 'member' or 'admin'", { expected: "'member' or 'admin'" })),
    )
  })

  it('are claims of new JWTs, if the settings say so', async () => {
    const { id, email, bearer } = await someone()
    expect(jsonwebtoken.decode(bearer))
      .to.include({ sub: String(id), role: 'member' })
      .and.not.have.property('first_name')
    await patch(id, { role: 'admin' })
    expect(jsonwebtoken.decode(await logIn(service.url, email))).to.include({ sub: String(id), role: 'admin' })
    expect((await get('/users/me', bearer)).status).to.equal(200)
  })

  it('give a unique value to one of many users, in any case of letters', async () => {
    const name = aName()
    const spellings = [name, name.toUpperCase(), name.toLowerCase()]
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, at) => post({ first_name: 'A', username: spellings[at % 3] })),
    )
    const taken = refused(400, { code: 'REGISTER_FIELD_ALREADY_EXISTS', reason: 'username' })
    expect(answers.filter(({ status }) => status === 201)).to.have.length(1)
    const refusal = answers.find(({ status }) => status === 400)
    expect(refusal && seen(refusal)).to.deep.equal(taken)
    const { bearer } = await someone()
    const other = refused(400, { code: 'UPDATE_USER_FIELD_ALREADY_EXISTS', reason: 'username' })
    expect(seen(await patchMe(bearer, { username: name, age: 7 }))).to.deep.equal(other)
    expect((await patchMe(bearer, { username: aName() })).status).to.equal(200)
    const mine = aName()
    expect((await patchMe(bearer, { username: mine })).status).to.equal(200)
    expect((await patchMe(bearer, { username: mine.toUpperCase() })).status).to.equal(200)
    expect((await patchMe(bearer, { username: null })).status).to.equal(200)
    await someone({ username: mine })
  })

  it('are refused if they are sent twice, because other parsers take the first value', async () => {
    const { bearer } = await someone()
    const body = '{"username": "first", "age": 7, "username": "last"}'
    const headers = { 'Content-Type': 'application/json' }
    const answer = await call(service.url, 'PATCH', '/users/me', { bearer, headers, body })
    expect(seen(answer)).to.deep.equal(invalid(repeated('username')))
  })

  it('have at most 8 KiB together, without those that are read-only', async () => {
    const text = { type: 'string', maxLength: 4096 }
    const declared = { a: text, b: text, plan: { ...text, readOnly: true }, ban: { ...text, readOnly: true } }
    const large = await startTestService({}, withSettings({ fields: declared }))
    try {
      const answer = await post({ a: 'ü'.repeat(3000), b: 'ü'.repeat(3000) }, large.url)
      const msg = 'Value error, the fields of a user may have 8192 bytes together'
      expect(seen(answer)).to.deep.equal(invalid(fault('value_error', 'a', msg)))
      const full = await post({ a: 'ü'.repeat(3000), b: 'b'.repeat(2100) }, large.url)
      expect(full.status).to.equal(201)
      const { id } = full.body as { id: string } // safe: the status is 201
      const bearer = await firstSuperuser(large)
      const set = (json: object) => call(large.url, 'PATCH', `/users/${id}`, { bearer, json })
      expect((await set({ plan: 'ü'.repeat(3000), ban: 'spam' })).status).to.equal(200)
      expect(seen(await set({ ban: 'ü'.repeat(3000) }))).to.deep.equal(invalid(fault('value_error', 'ban', msg)))
    } finally {
      await large.stop()
    }
  })

  it('that nobody declares are dropped and logged once for each name', async () => {
    const { id, bearer } = await someone()
    for (let round = 0; round < 3; round++) {
      expect((await patchMe(bearer, { nickname: 'a', __proto__x: 1, age: 7 })).status).to.equal(200)
    }
    expect((await get(`/users/${id}`, admin)).body).to.not.have.property('nickname')
    const lines = service.logLines.filter((line) => line.includes('"field":"nickname"'))
    expect(lines).to.have.length(1)
  })

  it('that nobody declares, boxes that are not ticked and empty lists are refused, if the settings say so', async () => {
    const required = {
      terms: { type: 'boolean', enum: [true], atRegistration: 'required' },
      rules: { type: 'boolean', enum: [true] },
      topics: { type: 'array', atRegistration: 'required' },
    }
    const strict = await startTestService(
      {},
      withSettings({ fields: { ...fields, ...required }, unknownFields: 'refuse' }),
    )
    const given = { first_name: 'Ada', terms: true, topics: ['a'] }
    try {
      const unticked = (name: string) => fault('literal_error', name, 'Input should be True', { expected: 'True' })
      const none = fault('too_short', 'topics', 'List should have at least 1 item after validation, not 0', {
        field_type: 'List',
        min_length: 1,
        actual_length: 0,
      })
      expect(seen(await post({ ...given, terms: false, rules: false, topics: [] }, strict.url))).to.deep.equal(
        invalid(unticked('terms'), unticked('rules'), none),
      )
      const without = await post({ first_name: 'Ada' }, strict.url)
      expect(seen(without)).to.deep.equal(invalid(missing('terms'), missing('topics')))
      const email = anAddress()
      expect((await post({ ...given, email }, strict.url)).body).to.include({ terms: true, rules: null })
      const bearer = await logIn(strict.url, email)
      const withdrawn = await call(strict.url, 'PATCH', '/users/me', { bearer, json: { terms: false } })
      expect(seen(withdrawn)).to.deep.equal(invalid(unticked('terms')))
      const openapi = await call(strict.url, 'GET', '/openapi.json')
      expect(JSON.stringify(openapi.body))
        .to.include('"terms":{"type":"boolean","enum":[true]}')
        .and.include('"rules":{"type":["boolean","null"],"enum":[true,null]}')

      const extra = (name: string) => fault('extra_forbidden', name, 'Extra inputs are not permitted')
      const answer = await post({ ...given, nickname: 'a', role: 'admin' }, strict.url)
      expect(seen(answer)).to.deep.equal(invalid(extra('nickname'), extra('role')))
    } finally {
      await strict.stop()
    }
  })
})
