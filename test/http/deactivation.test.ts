// The end and the reason of a deactivation.
import { expect } from 'chai'
import { fixedClock } from '../../src/testing/fixed-clock.ts'
import { anAddress, forbidden, invalid, seen, stringType } from '../support/http/answers.ts'
import { call, goodPassword, logIn, register } from '../support/http/client.ts'
import { superuserToken } from '../support/scenes/superuser.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

const day = 86_400

interface Listed {
  readonly items: readonly object[]
  readonly count: number
}

describe('a deactivation by a superuser', () => {
  let service: TestService
  let url: string
  let admin: string
  const now = fixedClock()
  const inDays = (days: number) => new Date(now().getTime() + days * day * 1000).toISOString()

  before(async () => {
    const env = {
      PORTCULLIS_LIMITS__ENABLED: 'false',
      PORTCULLIS_BACKENDS__JWT__STRATEGY__LIFETIME_SECONDS: `${90 * day}`,
    }
    service = await startTestService(env, { clock: now })
    url = service.url
    admin = await superuserToken(url, env, service.dataFolder)
  })
  after(() => service.stop())

  const patch = (id: string, json: unknown, bearer = admin) => call(url, 'PATCH', `/users/${id}`, { json, bearer })
  const login = async (username: string) =>
    (await call(url, 'POST', '/auth/jwt/login', { form: { username, password: goodPassword } })).status
  const isActive = async (id: string) =>
    ((await call(url, 'GET', `/users/${id}`, { bearer: admin })).body as { is_active: boolean }).is_active // safe: a user
  /** The number of users whose address begins as this one without its last letter, so that an index finds them. */
  const listed = async (email: string, is: boolean) => {
    const path = `/users?q=${email.slice(0, -1)}&is_active=${is}&count=true`
    const { items, count } = (await call(url, 'GET', path, { bearer: admin })).body as Listed // safe: `call` compares it
    expect(count).to.equal(items.length)
    return count
  }
  const changesOf = (id: string) =>
    service.events.flatMap((one) => (one.event === 'on_after_update' && one.user.id === id ? [one.changes] : []))

  it('ends at its time without a job, and not a second before', async () => {
    const { id, email } = await register(url, anAddress())
    const bearer = await logIn(url, email)
    const until = inDays(3)
    const answer = await patch(id, { is_active: false, reason: 'spam', until })
    expect([answer.status, answer.body]).to.deep.equal([
      200,
      { id, email, is_active: false, is_superuser: false, is_verified: false },
    ])
    const event = await service.event((one) => one.event === 'on_after_update' && one.user.id === id)
    expect(event.changes).to.deep.equal({ is_active: false, inactive_until: until, inactive_reason: 'spam' })
    now.advance(3 * day - 1)
    expect([await listed(email, true), await listed(email, false)]).to.deep.equal([0, 1])
    expect([await isActive(id), await login(email)]).to.deep.equal([false, 400])
    now.advance(1)
    expect([await listed(email, true), await listed(email, false)]).to.deep.equal([1, 0])
    expect([await isActive(id), await login(email)]).to.deep.equal([true, 200])
    expect((await call(url, 'GET', '/users/me', { bearer })).status).to.equal(401)

    // A later deactivation has no end, although the record of the former one was never written again.
    const other = await register(url, anAddress())
    await patch(other.id, { is_active: false, reason: 'spam', until: inDays(1) })
    now.advance(day)
    expect((await patch(other.id, { is_active: false })).status).to.equal(200)
    now.advance(300 * day)
    admin = await superuserToken(url, {}, service.dataFolder)
    expect([await isActive(other.id), await login(other.email)]).to.deep.equal([false, 400])
    await service.event((one) => one.user.id === other.id && changesOf(other.id).length === 2)
    expect(changesOf(other.id)[1]).to.deep.equal({ is_active: false })
  })

  it('is told to the owner who enters the right password, although the answer is that to a wrong one', async () => {
    const { id, email } = await register(url, anAddress())
    await patch(id, { is_active: false, is_verified: true })
    const answers = []
    for (const password of ['a wrong pass phrase', goodPassword])
      answers.push(seen(await call(url, 'POST', '/auth/jwt/login', { form: { username: email, password } })))
    expect(answers[1]).to.deep.equal(answers[0])
    const told = await service.event((one) => one.event === 'on_inactive_sign_in' && one.user.id === id)
    expect(told.user).to.deep.include({ id, is_active: false })
  })

  it('keeps its end and reason until they are changed, and loses them with the activation', async () => {
    const { id, email } = await register(url, anAddress())
    await patch(id, { is_active: false, reason: 'spam', until: inDays(2) })
    await patch(id, { is_active: false })
    await patch(id, { is_active: false, reason: null, until: null })
    await patch(id, { is_active: false, reason: 'fraud', until: inDays(2) })
    now.advance(2 * day - 1)
    expect(await isActive(id)).to.equal(false)
    const until = inDays(4)
    await patch(id, { is_active: false, until })
    now.advance(2)
    expect(await isActive(id)).to.equal(false)
    await patch(id, { is_active: true })
    expect(await login(email)).to.equal(200)
    await patch(id, { is_active: false })
    now.advance(10 * day)
    expect(await login(email)).to.equal(400)
    await service.event((one) => one.user.id === id && changesOf(id).length === 5)
    expect(changesOf(id).slice(1)).to.deep.equal([
      { inactive_reason: 'fraud' },
      { inactive_until: until },
      { is_active: true },
      { is_active: false },
    ])
  })

  it('with a new reason and no end has none', async () => {
    const { id, email } = await register(url, anAddress())
    await patch(id, { is_active: false, reason: 'spam', until: inDays(2) })
    await patch(id, { is_active: false, reason: 'banned' })
    now.advance(300 * day)
    admin = await superuserToken(url, {}, service.dataFolder)
    expect([await isActive(id), await login(email)]).to.deep.equal([false, 400])
    await service.event((one) => one.user.id === id && changesOf(id).length === 2)
    expect(changesOf(id)[1]).to.deep.equal({ inactive_until: null, inactive_reason: 'banned' })
  })

  it('with another input is refused, and changes nothing', async () => {
    const { id, email } = await register(url, anAddress())
    const value = (name: string, problem: string) =>
      invalid({ type: 'value_error', loc: ['body', name], msg: `value ${problem}` })
    const needs = (name: string) => value(name, 'needs a deactivation: is_active false')
    const past = value('until', 'is not in the future, or not before the year 10000')
    const noTime = invalid({
      type: 'datetime_parsing',
      loc: ['body', 'until'],
      msg: 'Input should be a valid datetime, with a time zone',
    })
    const noReason = value('reason', 'has more than 500 characters, or a NUL')
    const later = inDays(1)
    for (const [json, answer] of [
      [{ reason: 'spam' }, needs('reason')],
      [{ until: later }, needs('until')],
      [{ is_active: true, reason: 'spam' }, needs('reason')],
      [{ is_active: null, until: later }, needs('until')],
      [{ is_active: false, until: now().toISOString() }, past],
      [{ is_active: false, until: '2020-01-01T00:00:00Z' }, past],
      [{ is_active: false, until: 'tomorrow' }, noTime],
      [{ is_active: false, until: '2030-01-01' }, noTime],
      [{ is_active: false, until: '2030-01-01T00:00:00' }, noTime],
      [{ is_active: false, until: '2030-02-30T00:00:00Z' }, noTime],
      [{ is_active: false, until: '+010000-01-01T00:00:00Z' }, noTime],
      [{ is_active: false, until: '2030-01-01T25:00:00Z' }, noTime],
      [{ is_active: false, until: '' }, noTime],
      [{ is_active: false, until: ' 2030-01-01T00:00:00Z' }, noTime],
      [{ is_active: false, until: '2030-01-01T24:00:00Z' }, noTime],
      [{ is_active: false, until: '2030-01-01T00:00:00+99:00' }, noTime],
      [{ is_active: false, until: 1_900_000_000 }, invalid(stringType('until'))],
      [{ is_active: false, reason: 5 }, invalid(stringType('reason'))],
      [{ is_active: false, reason: 'half of a pair: \ud800' }, invalid(stringType('reason'))],
      [{ is_active: false, reason: 'x'.repeat(501) }, noReason],
      [{ is_active: false, reason: 'a NUL: \0' }, noReason],
    ] as const) {
      expect(seen(await patch(id, json)), JSON.stringify(json)).to.deep.equal(answer)
    }
    const bearer = await logIn(url, email)
    const own = await call(url, 'PATCH', '/users/me', { json: { is_active: false, reason: 'x', until: later }, bearer })
    expect(own.status).to.equal(200)
    expect(seen(await patch(id, { is_active: false, until: later }, bearer))).to.deep.equal(forbidden)
    expect(await login(email)).to.equal(200)
    const hours = new Date(Date.parse(later) + 7_200_000).toISOString().replace('Z', '+02:00')
    expect((await patch(id, { is_active: false, reason: 'x'.repeat(500), until: hours })).status).to.equal(200)
    now.advance(day - 1)
    expect(await login(email)).to.equal(400)
    now.advance(1)
    expect(await login(email)).to.equal(200)
  })

  it('of a superuser ends with the rights of one', async () => {
    const email = anAddress('root')
    const [first, second] = [await register(url, email), await register(url, anAddress('root'))]
    for (const { id } of [first, second]) await patch(id, { is_superuser: true })
    await patch(first.id, { is_active: false, until: inDays(1) })
    now.advance(day)
    const bearer = await logIn(url, email)
    const me = (await call(url, 'GET', '/users/me', { bearer })).body
    expect(me).to.deep.include({ is_active: true, is_superuser: true })
    expect((await call(url, 'GET', `/users/${second.id}`, { bearer })).status).to.equal(200)
  })
})
