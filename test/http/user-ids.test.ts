import { expect } from 'chai'
import jsonwebtoken from 'jsonwebtoken'
import { anAddress, empty, notFound, refused, seen } from '../support/http/answers.ts'
import { call, goodPassword, logIn, register } from '../support/http/client.ts'
import { enrol } from '../support/scenes/enrol.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

const email = 'first.superuser@example.com'
const uuid = '01890000-0000-7000-8000-000000000000'
const objectId = 'f'.repeat(24)

describe('ids of users that are integers', () => {
  let service: TestService
  let admin: string
  before(async () => {
    const env = { PORTCULLIS_IDS: 'integer' }
    service = await startTestService(env)
    await enrol(env, service.dataFolder, [email], { isSuperuser: true, isVerified: true })
    admin = await logIn(service.url, email)
  })
  after(() => service.stop())

  const byId = (method: string, id: unknown, more: object = {}) =>
    call(service.url, method, `/users/${id}`, { bearer: admin, ...more })

  it('are numbers in answers, and texts in paths and tokens', async () => {
    const user = await register(service.url, anAddress())
    expect(user.id).to.be.a('number')
    expect(await register(service.url, anAddress())).to.include({ id: Number(user.id) + 1 })
    const bearer = await logIn(service.url, user.email)
    expect(jsonwebtoken.decode(bearer)).to.include({ sub: String(user.id) })
    expect(seen(await call(service.url, 'GET', '/users/me', { bearer }))).to.deep.equal({ status: 200, body: user })
    expect(seen(await byId('GET', user.id))).to.deep.equal({ status: 200, body: user })
    const changed = await byId('PATCH', user.id, { json: { is_active: false } })
    expect(seen(changed)).to.deep.equal({ status: 200, body: { ...user, is_active: false } })
    expect(seen(await byId('DELETE', user.id))).to.deep.equal(empty(204))
    expect(seen(await byId('GET', user.id))).to.deep.equal(notFound)
  })

  it('are numbers in the arguments of handlers', async () => {
    const user = await register(service.url, anAddress())
    const { user: told } = await service.event(
      ({ event, user: { id } }) => event === 'on_after_register' && id === user.id,
    )
    expect(told).to.deep.equal(user)
  })

  it('give 404 to a path of another shape', async () => {
    for (const id of [uuid, objectId, '0', '01', '1.0', '-1', '1e3', '9007199254740993', 'x']) {
      for (const method of ['GET', 'DELETE']) expect(seen(await byId(method, id)), id).to.deep.equal(notFound)
      expect(seen(await byId('PATCH', id, { json: {} })), id).to.deep.equal(notFound)
      expect(seen(await byId('GET', `${id}/sessions`)), id).to.deep.equal(notFound)
    }
  })

  it('are not reused after a taken address or a deletion', async () => {
    const user = await register(service.url, anAddress())
    const json = { email: user.email, password: goodPassword }
    const again = await call(service.url, 'POST', '/auth/register', { json })
    expect(seen(again)).to.deep.equal(refused(400, 'REGISTER_USER_ALREADY_EXISTS'))
    await byId('DELETE', user.id)
    expect(Number((await register(service.url, user.email)).id)).to.be.greaterThan(Number(user.id))
  })
})

describe('ids of users that are ObjectIds', () => {
  it('are texts of 24 digits everywhere, as the document says', async () => {
    const service = await startTestService({ PORTCULLIS_IDS: 'objectid', PORTCULLIS_STORES__USERS__KIND: 'memory' })
    try {
      const user = await register(service.url, anAddress())
      expect(user.id).to.match(/^[0-9a-f]{24}$/)
      const bearer = await logIn(service.url, user.email)
      expect(jsonwebtoken.decode(bearer)).to.include({ sub: user.id })
      const { body } = await call(service.url, 'GET', '/openapi.json')
      expect(JSON.stringify(body)).to.include(
        '"name":"user_id","in":"path","required":true,"schema":{"type":"string","pattern"',
      )
    } finally {
      await service.stop()
    }
  })
})

describe('tenants with different kinds of ids', () => {
  it('count their own users, and give UUIDs to the others', async () => {
    const list = { acme: { ids: 'integer' }, bolt: { ids: 'integer' }, city: { ids: 'uuid' } }
    const files = { 'portcullis.config.json': { tenants: { by: 'header', list } } }
    const service = await startTestService({ PORTCULLIS_STORES__USERS__KIND: 'memory' }, { files })
    try {
      const idAt = async (tenant: string) => {
        const json = { email: anAddress(), password: goodPassword }
        const options = { method: 'POST', headers: { 'X-Tenant': tenant, 'Content-Type': 'application/json' } }
        const answer = await fetch(`${service.url}/auth/register`, { ...options, body: JSON.stringify(json) })
        return ((await answer.json()) as { id: unknown }).id // safe: a new user
      }
      expect([await idAt('acme'), await idAt('acme'), await idAt('bolt')]).to.deep.equal([1, 2, 1])
      expect(await idAt('city'))
        .to.be.a('string')
        .with.lengthOf(36)
    } finally {
      await service.stop()
    }
  })
})
