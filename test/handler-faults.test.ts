import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { type ScratchModule, scratchModule } from './adapters/events/scratch-module.ts'
import { call, goodPassword, logIn, register } from './support/client.ts'
import { eventually } from './support/eventually.ts'
import { type SpawnedService, scratchFolder, spawnService } from './support/spawned-service.ts'
import { superuserToken } from './support/superuser.ts'

interface Note {
  readonly event: string
  readonly email: string
  readonly eventId: string
  readonly token?: string
  readonly did: 'begin' | 'end'
}

/** What a handler does the first time (or the first three times) is in the address of the user it is called for. */
const faulty = `
  const attempts = (eventId) => notes().split('\\n').filter((line) => line.includes(eventId) && line.includes('begin')).length
  const handler = (event) => async (user, ...rest) => {
    const { eventId } = rest.pop()
    const { email } = user
    const attempt = attempts(eventId) + 1
    const token = typeof rest[0] === 'string' ? rest[0] : undefined
    note({ event, email, eventId, token, did: 'begin' })
    if (email.startsWith('fails') && attempt <= 3) throw new Error('no mail server')
    if (email.startsWith('hangs') && attempt === 1) await new Promise(() => {})
    if (email.startsWith('loops') && attempt === 1) for (;;);
    if (email.startsWith('exits') && attempt === 1) process.exit(1)
    note({ event, email, eventId, token, did: 'end' })
  }
  export const on_after_register = handler('register')
  export const on_after_update = async (user, { email }, { eventId }) => handler('update to ' + email)(user, { eventId })
  export const on_after_forgot_password = handler('forgot')
  export const on_after_request_verify = handler('verify')
  export const on_after_delete = handler('delete')
  export const on_before_delete = async ({ email }) => {
    note({ event: 'before_delete', email, did: 'begin' })
    if (email.startsWith('kept')) throw { reason: 'has open invoices' }
    if (email.startsWith('fault')) throw new Error('no database at 10.0.0.7')
    if (email.startsWith('never')) await new Promise(() => {})
    if (email.startsWith('stuck')) for (;;);
    if (email.startsWith('leave')) process.exit(1)
  }`

const inOrder = 'fails-in-order@example.com'
const respelt = ['Fails', 'FAils', 'FAIls'].map((word) => inOrder.replace('fails', word))
const forgetful = 'fails-and-forgets@example.com'

describe('a service whose handlers are at fault', function () {
  this.timeout(60_000)
  let module: ScratchModule
  let service: SpawnedService
  let dataFolder: string
  let superuser: string
  const notes = () => module.notes() as Note[] // safe: the module above writes nothing else
  const ends = () => notes().filter(({ did }) => did === 'end')

  before(async () => {
    module = scratchModule(faulty)
    dataFolder = join(scratchFolder(), 'data')
    service = await spawnService({
      PORTCULLIS_DATA_FOLDER: dataFolder,
      PORTCULLIS_HANDLERS__MODULE: fileURLToPath(module.url),
      PORTCULLIS_HANDLERS__TIMEOUT_SECONDS: '0.5',
      PORTCULLIS_PASSWORDS__MAX_WAIT_SECONDS: '60',
    })
    superuser = await superuserToken(service.url, {}, dataFolder)
    // What fails three times takes seconds to succeed: all of it at the same time.
    const { id } = await register(service.url, inOrder)
    for (const email of respelt) {
      const { status } = await call(service.url, 'PATCH', `/users/${id}`, { json: { email }, bearer: superuser })
      expect(status).to.equal(200)
    }
    const { email } = await register(service.url, forgetful)
    await call(service.url, 'POST', '/auth/forgot-password', { json: { email } })
    await call(service.url, 'POST', '/auth/request-verify-token', { json: { email } })
  })
  after(async () => {
    expect(await service.end('SIGTERM')).to.equal(0)
    module.remove()
  })

  it('answers rightly and soon meanwhile, and delivers every event in the end', async () => {
    const kinds = ['calm', 'fails', 'hangs', 'loops', 'exits']
    const emails = Array.from({ length: 20 }, (_, at) => `${kinds[at % kinds.length]}-${at}@example.com`)
    const bearer = await logIn(service.url, (await register(service.url, 'reader@example.com')).email)

    const waits: number[] = []
    let isOver = false
    const reading = (async () => {
      while (!isOver) {
        const begun = performance.now()
        const { status } = await call(service.url, 'GET', '/users/me', { bearer })
        expect(status).to.equal(200)
        waits.push(performance.now() - begun)
        await delay(5)
      }
    })()
    for (const email of emails) {
      await register(service.url, email)
      await logIn(service.url, email)
    }
    const delivered = () => new Set(ends().flatMap(({ event, email }) => (event === 'register' ? [email] : [])))
    await eventually('all events', () => emails.every((email) => delivered().has(email)), 30)
    isOver = true
    await reading

    waits.sort((a, b) => a - b)
    expect(waits[Math.floor(waits.length * 0.99)], 'p99 of /users/me in ms').to.be.below(250)
    const tries = (kind: string) =>
      emails
        .filter((email) => email.startsWith(kind))
        .map((email) => notes().filter((note) => note.email === email && note.did === 'begin').length)
    for (const count of tries('fails')) expect(count).to.be.at.least(4)
    for (const kind of ['hangs', 'loops', 'exits']) for (const count of tries(kind)) expect(count).to.be.at.least(2)
  })

  it("holds back a user's later events while an earlier one fails, and nobody else's", async () => {
    await eventually('the last event', () => ends().some(({ event }) => event === `update to ${respelt[2]}`), 30)
    const done = ends().filter(({ email }) => email.toLowerCase() === inOrder)
    expect(done.map(({ event }) => event)).to.deep.equal(['register', ...respelt.map((one) => `update to ${one}`)])
    const whose = ends().map(({ email }) => email)
    expect(whose.findIndex((email) => email.startsWith('calm'))).to.be.within(0, whose.indexOf(inOrder) - 1)
  })

  it('hands out the same token at every attempt, and it is good', async () => {
    const notesOf = (event: string) => notes().filter((note) => note.email === forgetful && note.event === event)
    const isDone = (event: string) => notesOf(event).some(({ did }) => did === 'end')
    await eventually('both tokens', () => isDone('forgot') && isDone('verify'), 30)

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
    const begun = performance.now()
    const path = `/users/${id}`
    const answer = await call(service.url, 'DELETE', path, { bearer: superuser })
    const seconds = (performance.now() - begun) / 1000
    const { status: statusAfter } = await call(service.url, 'GET', path, { bearer: superuser })
    return { answer, seconds, statusAfter }
  }

  it('deletes whom on_before_delete lets go', async () => {
    const { answer, statusAfter } = await deletion('calm-goer@example.com')
    expect([answer.status, statusAfter]).to.deep.equal([204, 404])
    await eventually('on_after_delete', () =>
      ends().some(({ event, email }) => event === 'delete' && /goer/.test(email)),
    )
  })

  it('deletes nobody whom on_before_delete keeps, and tells the reason', async () => {
    const { answer, statusAfter } = await deletion('kept@example.com')
    expect([answer.status, statusAfter]).to.deep.equal([400, 200])
    expect(answer.body).to.deep.equal({ detail: { code: 'DELETE_USER_REFUSED', reason: 'has open invoices' } })
  })

  for (const [kind, what, atMost] of [
    ['fault', 'throws', 1],
    ['leave', 'exits', 1],
    ['never', 'hangs', 2.5],
    ['stuck', 'loops for ever', 2.5],
  ] as const) {
    it(`deletes nobody while on_before_delete ${what}: 503 within ${atMost} s`, async () => {
      const { answer, seconds, statusAfter } = await deletion(`${kind}@example.com`)
      expect([answer.status, statusAfter]).to.deep.equal([503, 200])
      expect(answer.body).to.deep.equal({ detail: 'SERVICE_UNAVAILABLE' })
      expect(Number(answer.headers.get('Retry-After'))).to.be.at.least(1)
      expect(seconds).to.be.below(atMost)
    })
  }

  it('logs neither addresses nor the words of errors', () => {
    const telling = service.errors.filter((line) => /@example\.com|mail server|10\.0\.0\.7/.test(line))
    expect(telling).to.deep.equal([])
  })
})
