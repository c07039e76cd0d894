import { expect } from 'chai'
import { eventually } from '../support/eventually.ts'
import { forbidden, invalid, refused, seen, unauthorized } from '../support/http/answers.ts'
import { call, logIn, register, type Sent } from '../support/http/client.ts'
import { firstSuperuser } from '../support/scenes/first-superuser.ts'
import { quickest } from '../support/scenes/quickest.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

interface Listed {
  readonly id: string
  readonly email: string
  readonly created_at: string
  readonly last_login: string | null
}

interface Found {
  readonly items: readonly Listed[]
  readonly next: string | null
  readonly count?: number
  readonly is_count_complete?: boolean
}

const fields = {
  username: { type: 'string', unique: true },
  badge: { type: 'string', unique: true, caseSensitive: true },
  note: { type: 'string', private: true },
  city: { type: 'string' },
}
const fault = (type: string, name: string, msg: string) => ({ type, loc: ['query', name], msg })
const notBoolean = 'Input should be a valid boolean, unable to interpret input'

describe('GET /users', () => {
  let service: TestService
  let admin: string
  const files = { 'portcullis.config.json': { users: { fields } } }
  const start = () => startTestService(quickest, { files })

  before(async () => {
    service = await start()
    admin = await firstSuperuser(service)
    for (const [name, username] of [
      ['ada.lovelace', 'countess'],
      ['ada.byron', 'ada.byron'],
      ['grace', 'Ada_2'],
      ['alan', 'alan'],
    ]) {
      const { id } = await register(service.url, `${name}@example.com`)
      const json = { username, badge: `badge-${name}`, city: 'Ada', note: 'N', is_verified: name === 'grace' }
      expect((await call(service.url, 'PATCH', `/users/${id}`, { bearer: admin, json })).status).to.equal(200)
    }
    await call(service.url, 'PATCH', `/users/${await idOf('alan')}`, { bearer: admin, json: { is_active: false } })
    await logIn(service.url, 'grace@example.com')
  })
  after(() => service.stop())

  const ask = (query: string, sent: Sent = { bearer: admin }, url = service.url) =>
    call(url, 'GET', `/users${query}`, sent)

  async function found(query: string): Promise<Found> {
    const { status, body } = await ask(query)
    expect(status, JSON.stringify(body)).to.equal(200)
    return body as Found // safe: `call` compares it with the document
  }

  const namesOf = ({ items }: Found) => items.map(({ email }) => email.slice(0, email.indexOf('@')))
  const idOf = async (name: string) => (await found(`?q=${name}@example.com`)).items[0]?.id ?? ''
  const everybody = ['ada.byron', 'ada.lovelace', 'alan', 'first.superuser', 'grace']

  it('lists every user with the fields of the own account, private ones, and times', async () => {
    const { items, next } = await found('')
    expect(items.map(({ email }) => email.slice(0, email.indexOf('@'))).sort()).to.deep.equal(everybody)
    expect(next).to.equal(null)
    const grace = items.find(({ email }) => email.startsWith('grace'))
    const { id, created_at, last_login, ...others } = grace ?? { id: '', created_at: '', last_login: '' }
    expect(others).to.deep.equal({
      email: 'grace@example.com',
      is_active: true,
      is_superuser: false,
      is_verified: true,
      username: 'Ada_2',
      badge: 'badge-grace',
      city: 'Ada',
      note: 'N',
    })
    expect(String((await call(service.url, 'GET', `/users/${id}`, { bearer: admin })).status)).to.equal('200')
    expect(new Date(String(last_login)).getTime()).to.be.at.least(new Date(created_at).getTime())
  })

  it('pages through the users, each once', async () => {
    const names: string[] = []
    let query = '?limit=2'
    for (let page = 0; page < 9; page++) {
      const { items, next } = await found(query)
      names.push(...namesOf({ items, next }))
      if (next === null) break
      query = `?limit=2&after=${next}`
    }
    expect(names.sort()).to.deep.equal(everybody)
  })

  it('finds one user by id or address, in any spelling, and filters this one, too', async () => {
    const id = await idOf('grace')
    for (const q of [id, id.toUpperCase(), `${id} `, 'GRACE@Example.com', '%20grace@example.com']) {
      expect(namesOf(await found(`?q=${q}`)), q).to.deep.equal(['grace'])
    }
    expect(await found(`?q=${id}&is_verified=false&count=true`)).to.deep.equal({
      items: [],
      next: null,
      count: 0,
      is_count_complete: true,
    })
  })

  it('finds by the beginning of the address, and then of each unique field, each user once', async () => {
    for (const [q, wanted] of [
      ['ada.', ['ada.byron', 'ada.lovelace']],
      ['ADA', ['ada.byron', 'ada.lovelace', 'grace']],
      ['countess', ['ada.lovelace']],
      ['badge-g', ['grace']],
      ['Badge-g', []],
      ['lovelace', []],
      ['%25', []],
      ['ada.byron@', ['ada.byron']],
      ['first', ['first.superuser']],
    ] as const) {
      expect(namesOf(await found(`?q=${q}`)), q).to.deep.equal(wanted)
      expect(await found(`?q=${q}&count=true`)).to.include({ count: wanted.length, is_count_complete: true })
    }
    const pages: string[] = []
    for (let after = ''; ; ) {
      const page = await found(`?q=ada&limit=1${after}`)
      pages.push(...namesOf(page))
      if (page.next === null) break
      after = `&after=${page.next}`
    }
    expect(pages).to.deep.equal(['ada.byron', 'ada.lovelace', 'grace'])
  })

  it('filters by flags and times', async () => {
    const now = new Date().toISOString()
    for (const [query, wanted] of [
      ['is_active=false', ['alan']],
      ['is_active=false&is_verified=true', []],
      ['is_superuser=true', ['first.superuser']],
      ['is_verified=true&is_superuser=false', ['grace']],
      ['factor=true', []],
      ['factor=false', everybody],
      [`created_before=${now}`, everybody],
      [`created_after=${now}`, []],
      ['created_before=2020-01-01', []],
      [`last_login_before=${now}`, ['first.superuser', 'grace']],
      [`last_login_before=${now}&q=gr`, ['grace']],
    ] as const) {
      expect(namesOf(await found(`?${query}`)).sort(), query).to.deep.equal(wanted)
    }
  })

  it('refuses wrong values, unknown filters and made-up cursors', async () => {
    const { next } = await found('?limit=1')
    const texts = ['x', 'e30', 'WzAsbnVsbF0x', Buffer.from('[0,"[null,null]"]').toString('base64url'), '']
    const badCursor = fault('value_error', 'after', 'Value error, the value is no cursor of this search')
    for (const after of texts) {
      expect(seen(await ask(`?after=${after}`)), after).to.deep.equal(invalid(badCursor))
    }
    expect(seen(await ask(`?created_after=2020-01-01&after=${next}`))).to.deep.equal(invalid(badCursor))
    const wrongLimit = fault('value_error', 'limit', 'Value error, the value is no whole number from 1 to 100')
    for (const limit of ['0', '101', '999999999']) {
      expect(seen(await ask(`?limit=${limit}`))).to.deep.equal(invalid(wrongLimit))
    }
    const noInteger = 'Input should be a valid integer, unable to parse string as an integer'
    const noTime = 'Input should be a date, or a time with its offset, as in RFC 3339'
    for (const [query, type, name, msg] of [
      ['limit=ten', 'int_parsing', 'limit', noInteger],
      ['limit=-1', 'int_parsing', 'limit', noInteger],
      ['is_active=maybe', 'bool_parsing', 'is_active', notBoolean],
      ['is_active=', 'bool_parsing', 'is_active', notBoolean],
      ['is_active=yes', 'bool_parsing', 'is_active', notBoolean],
      ['count=1', 'bool_parsing', 'count', notBoolean],
      ['created_after=2026-01-01T24:00:00Z', 'datetime_parsing', 'created_after', noTime],
      ['created_before=2026-01-01T00:00:00%2B24:00', 'datetime_parsing', 'created_before', noTime],
      ['last_login_before=2026-02-30', 'datetime_parsing', 'last_login_before', noTime],
      ['created_after=yesterday', 'datetime_parsing', 'created_after', noTime],
      ['created_after=2026-13-01', 'datetime_parsing', 'created_after', noTime],
      ['created_after=2026-01-01T00:00:00', 'datetime_parsing', 'created_after', noTime],
      ['email=ada', 'extra_forbidden', 'email', 'Extra inputs are not permitted'],
      ['contains=ada', 'extra_forbidden', 'contains', 'Extra inputs are not permitted'],
      ['q=a&q=b', 'value_error', 'q', 'Value error, field was sent more than once'],
      ['q=a%00', 'value_error', 'q', 'Value error, the value is no well-formed text without NUL'],
      [`q=${'a'.repeat(255)}`, 'value_error', 'q', 'Value error, the value has more than 254 characters'],
    ] as const) {
      expect(seen(await ask(`?${query}`)), query).to.deep.equal(invalid(fault(type, name, msg)))
    }
  })

  it('takes the same parameters in the body of POST /users/search', async () => {
    const search = (json: object, sent: Sent = { bearer: admin }) =>
      call(service.url, 'POST', '/users/search', { ...sent, json })
    const now = new Date().toISOString()
    for (const [json, query] of [
      [{}, ''],
      [{ q: 'ada', limit: 1, count: true }, '?q=ada&limit=1&count=true'],
      [{ q: 'GRACE@example.com', is_active: null }, '?q=GRACE@example.com'],
      [{ is_active: false, is_verified: false }, '?is_active=false&is_verified=false'],
      [{ created_before: now, factor: false }, `?created_before=${now}&factor=false`],
      [{ created_before: '2020-01-01' }, '?created_before=2020-01-01'],
    ] as const) {
      expect(seen(await search(json))).to.deep.equal(seen(await ask(query)))
    }
    const { next } = await found('?limit=2')
    expect((await search({ limit: 2, after: next })).body).to.deep.equal(await found(`?limit=2&after=${next}`))
    const inBody = (type: string, name: string) => ({ type, loc: ['body', name] })
    for (const [json, type, name] of [
      [{ is_active: 'yes' }, 'enum', 'is_active'],
      [{ is_active: 1 }, 'enum', 'is_active'],
      [{ created_after: 'yesterday' }, 'datetime_parsing', 'created_after'],
      [{ limit: '5' }, 'int_type', 'limit'],
      [{ limit: 101 }, 'value_error', 'limit'],
      [{ q: 'a'.repeat(255) }, 'value_error', 'q'],
      [{ q: ['a'] }, 'string_type', 'q'],
      [{ after: 'x' }, 'value_error', 'after'],
      [{ email: 'ada' }, 'extra_forbidden', 'email'],
    ] as const) {
      const { status, body } = await search(json)
      expect(status, JSON.stringify(json)).to.equal(422)
      expect((body as { detail: object[] }).detail[0], JSON.stringify(json)).to.deep.include(inBody(type, name))
    }
    const bearer = await logIn(service.url, 'grace@example.com')
    for (const json of [{}, { unknown: 1 }]) {
      expect(seen(await search(json, { bearer }))).to.deep.equal(forbidden)
      expect(seen(await search(json, {}))).to.deep.equal(unauthorized)
    }
    expect((await search({ q: 'x'.repeat(17_000) })).status).to.equal(413)
  })

  it('answers the same to every user who is no superuser, and nothing to strangers', async () => {
    const bearer = await logIn(service.url, 'grace@example.com')
    for (const query of ['', '?q=ada', '?q=nobody@example.com', '?limit=0', '?unknown=1', '?after=x']) {
      expect(seen(await ask(query, { bearer }))).to.deep.equal(forbidden)
      expect(seen(await ask(query, {}))).to.deep.equal(unauthorized)
    }
  })

  it('is an event with users.reportsLookups, if it finds one user by id or address', async () => {
    const { dataFolder } = service
    const env = { ...quickest, PORTCULLIS_USERS__REPORTS_LOOKUPS: 'true', PORTCULLIS_HANDLERS__CONSOLE: 'true' }
    const other = await startTestService(env, { dataFolder, files })
    try {
      for (const q of ['ada', 'nobody@example.com', 'grace@example.com'])
        await call(other.url, 'POST', '/users/search', { bearer: admin, json: { q } })
      await other.event(({ event, user }) => event === 'on_after_lookup' && user?.email === 'grace@example.com')
      const lookups = other.events.filter(({ event }) => event === 'on_after_lookup')
      expect(lookups).to.have.length(1)
      const { body } = await ask('?q=grace@example.com', { bearer: admin }, other.url)
      const [grace] = (body as { items: { id: string }[] }).items // safe: the test before found her
      for (const path of [
        'explain?email=grace@example.com',
        'explain?email=nobody@example.com',
        `${grace?.id}/details`,
        `${grace?.id}`,
        `${grace?.id}/sessions`,
      ])
        expect((await call(other.url, 'GET', `/users/${path}`, { bearer: admin })).status).to.equal(200)
      const told = () => other.events.filter(({ event }) => event === 'on_after_lookup')
      await eventually('the look-ups', () => told().length === 6)
    } finally {
      await other.stop()
    }
  })

  it('is not there with users.search off, and with the preset of fastapi-users', async () => {
    const { dataFolder } = service
    for (const env of [{ PORTCULLIS_USERS__SEARCH: 'false' }, { PORTCULLIS_COMPAT__PRESET: 'fastapi-users' }]) {
      const other = await startTestService({ ...quickest, ...env }, { dataFolder })
      expect(seen(await ask('', { bearer: admin }, other.url))).to.deep.equal(refused(405, 'Method Not Allowed'))
      await other.stop()
    }
  })
})
