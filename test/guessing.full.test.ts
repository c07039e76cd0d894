import { expect } from 'chai'
import { call, goodPassword, register } from './support/client.ts'
import { eventually } from './support/eventually.ts'
import { each, sender } from './support/sender.ts'
import { startTestService, type TestService } from './support/service.ts'

const email = 'ada@example.com'

const clients = 1_000

describe(`${clients} clients that guess one password each at one account`, () => {
  let service: TestService

  before(async () => {
    service = await startTestService({
      PORTCULLIS_HTTP__TRUSTED_PROXIES: '127.0.0.1',
      PORTCULLIS_PASSWORDS__MEMORY_KIB: '7168',
      PORTCULLIS_PASSWORDS__TIME_COST: '5',
    })
  })
  after(() => service?.stop())

  it('verify 100 of them, and do not keep its owner out', async () => {
    const { url } = service
    await register(url, email)
    const form = { username: email, password: goodPassword }
    const login = await call(url, 'POST', '/auth/jwt/login', { form })
    const cookie = login.headers.get('Set-Cookie')?.split(';')[0] ?? ''
    const logIn = async (more: object) => (await call(url, 'POST', '/auth/jwt/login', { form, ...more })).status

    const crowd = sender(url, 500) // a refusal takes a second
    let left = clients
    const guesses = each(left, 500, async (at) => {
      const client = { 'X-Forwarded-For': `10.${at >> 16}.${(at >> 8) & 255}.${at & 255}` }
      const { status } = await crowd.postForm('/auth/jwt/login', { username: email, password: `guess ${at}` }, client)
      left--
      return status
    })
    const owner: number[] = []
    for (const rest of [0.99, 0.75, 0.5, 0.25]) {
      await eventually('the guesses', () => left <= rest * clients)
      owner.push(await logIn({ cookie }))
    }
    const statuses = await guesses
    crowd.close()

    expect(owner).to.deep.equal([200, 200, 200, 200])
    expect(statuses.filter((status) => status === 400)).to.have.length(100)
    expect(statuses.filter((status) => status === 429)).to.have.length(clients - 100)
    expect(await logIn({}), 'the owner from a new browser').to.equal(429)
  })
})
