import { expect } from 'chai'
import { eventually } from './support/eventually.ts'
import { call, goodPassword, logIn, register } from './support/http/client.ts'
import { type FaultyService, startFaulty } from './support/scenes/faulty-handlers.ts'
import { superuserToken } from './support/scenes/superuser.ts'
import type { SpawnedService } from './support/services/spawned-service.ts'

const inOrder = 'fails-in-order@example.com'
const respelt = ['Fails', 'FAils', 'FAIls'].map((word) => inOrder.replace('fails', word))
const forgetful = 'fails-and-forgets@example.com'

describe('a service with failing handlers', () => {
  let running: FaultyService
  let service: SpawnedService
  let superuser: string
  const notes = () => running.notes()
  const ends = () => running.ends()

  before(async () => {
    running = await startFaulty()
    service = running.service
    superuser = await superuserToken(service.url, {}, running.dataFolder)
    // An event that fails three times takes seconds, so all of them begin here.
    const { id } = await register(service.url, inOrder)
    for (const email of respelt) {
      const { status } = await call(service.url, 'PATCH', `/users/${id}`, { json: { email }, bearer: superuser })
      expect(status).to.equal(200)
    }
    await register(service.url, 'calm@example.com')
    const { email } = await register(service.url, forgetful)
    await call(service.url, 'POST', '/auth/forgot-password', { json: { email } })
    await call(service.url, 'POST', '/auth/request-verify-token', { json: { email } })
  })
  after(async () => {
    expect(await service?.end('SIGTERM')).to.equal(0)
    running?.remove()
  })

  it('delays only the later events of a user while an earlier one fails', async () => {
    await eventually('the last event', () => ends().some(({ event }) => event === `update to ${respelt[2]}`))
    const done = ends().filter(({ email }) => email.toLowerCase() === inOrder)
    expect(done.map(({ event }) => event)).to.deep.equal(['register', ...respelt.map((one) => `update to ${one}`)])
    const whose = ends().map(({ email }) => email)
    expect(whose.findIndex((email) => email.startsWith('calm'))).to.be.within(0, whose.indexOf(inOrder) - 1)
  })

  it('hands out the same valid token at every attempt', async () => {
    const notesOf = (event: string) => notes().filter((note) => note.email === forgetful && note.event === event)
    const isDone = (event: string) => notesOf(event).some(({ did }) => did === 'end')
    await eventually('both tokens', () => isDone('forgot') && isDone('verify'))

    for (const event of ['forgot', 'verify']) {
      expect(notesOf(event).length).to.be.at.least(5)
      expect(new Set(notesOf(event).map(({ token }) => token)).size).to.equal(1)
    }
    const verified = await call(service.url, 'POST', '/auth/verify', { json: { token: notesOf('verify')[0]?.token } })
    expect(verified.status).to.equal(200)
    const json = { token: notesOf('forgot')[0]?.token, password: `${goodPassword} anew` }
    expect((await call(service.url, 'POST', '/auth/reset-password', { json })).status).to.equal(200)
    await logIn(service.url, forgetful, json.password)
  })

  async function deletion(email: string) {
    const { id } = await register(service.url, email)
    await eventually('the registration', () => ends().some((note) => note.email === email))
    const path = `/users/${id}`
    const answer = await call(service.url, 'DELETE', path, { bearer: superuser })
    const { status: statusAfter } = await call(service.url, 'GET', path, { bearer: superuser })
    return { answer, statusAfter }
  }

  it('deletes a user when on_before_delete returns', async () => {
    const { answer, statusAfter } = await deletion('calm-goer@example.com')
    expect([answer.status, statusAfter]).to.deep.equal([204, 404])
    await eventually('on_after_delete', () =>
      ends().some(({ event, email }) => event === 'delete' && /goer/.test(email)),
    )
  })

  it('keeps a user when on_before_delete refuses, and answers the reason', async () => {
    const { answer, statusAfter } = await deletion('kept@example.com')
    expect([answer.status, statusAfter]).to.deep.equal([400, 200])
    expect(answer.body).to.deep.equal({
      detail: { code: 'DELETE_USER_REFUSED', reason: 'has open invoices', rule: 'custom' },
    })
  })

  for (const [kind, what] of [
    ['fault', 'throws'],
    ['leave', 'exits'],
    ['never', 'hangs'],
    ['stuck', 'loops for ever'],
  ] as const) {
    it(`answers 503 and keeps the user while on_before_delete ${what}`, async () => {
      const { answer, statusAfter } = await deletion(`${kind}@example.com`)
      expect([answer.status, statusAfter]).to.deep.equal([503, 200])
      expect(answer.body).to.deep.equal({ detail: 'SERVICE_UNAVAILABLE' })
      expect(Number(answer.headers.get('Retry-After'))).to.be.at.least(1)
    })
  }

  describe('asks validate_password about a new password', () => {
    const [email, words] = ['calm-chooser@example.com', 'quite long pass phrase']
    const known = `known ${words}`
    let user: { id: string }
    let bearer: string
    before(async () => {
      user = await register(service.url, email)
      bearer = await logIn(service.url, email)
    })
    const registration = (password: string) =>
      call(service.url, 'POST', '/auth/register', { json: { email: 'calm-new@example.com', password } })
    const patch = (path: string, token: string, password: string) =>
      call(service.url, 'PATCH', path, { bearer: token, json: { password } })
    const refusedBy = (code: string, of = email) => ({
      status: 400,
      body: { detail: { code, reason: `Password is known to attackers: ${of}`, rule: 'custom' } },
    })
    const seen = ({ status, body }: { status: number; body: unknown }) => ({ status, body })

    it('at a registration and in both routes of a change', async () => {
      const code = 'UPDATE_USER_INVALID_PASSWORD'
      const ofNew = refusedBy('REGISTER_INVALID_PASSWORD', 'calm-new@example.com')
      expect(seen(await registration(known))).to.deep.equal(ofNew)
      expect(seen(await patch('/users/me', bearer, known))).to.deep.equal(refusedBy(code))
      expect(seen(await patch(`/users/${user.id}`, superuser, known))).to.deep.equal(refusedBy(code))
      expect((await registration(words)).status).to.equal(201)
      await logIn(service.url, email)
    })

    it('at a reset, whose token neither a refusal nor a fault spends', async () => {
      await call(service.url, 'POST', '/auth/forgot-password', { json: { email } })
      const ofUser = () => ends().find((note) => note.email === email && note.event === 'forgot')
      await eventually('the token', () => ofUser() !== undefined)
      const reset = (password: string) =>
        call(service.url, 'POST', '/auth/reset-password', { json: { token: ofUser()?.token, password } })
      expect(seen(await reset(known))).to.deep.equal(refusedBy('RESET_PASSWORD_INVALID_PASSWORD'))
      expect((await reset(`fault ${words}`)).status).to.equal(503)
      expect((await reset(`never ${words}`)).status).to.equal(503)
      expect((await reset(words)).status).to.equal(200)
      await logIn(service.url, email, words)
    })

    it('and logs no password', () => {
      expect(service.errors.filter((line) => line.includes(words))).to.deep.equal([])
      expect(service.errors.some((line) => line.includes('validate_password'))).to.equal(true)
    })
  })

  it('logs neither addresses nor messages of errors', () => {
    const telling = service.errors.filter((line) => /@example\.com|mail server|10\.0\.0\.7/.test(line))
    expect(telling).to.deep.equal([])
  })
})
