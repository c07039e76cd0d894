// The answer times of a service whose handlers fail, hang, loop and exit. Needs an idle machine.
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import { eventually } from './support/eventually.ts'
import { call, logIn, register } from './support/http/client.ts'
import { type FaultyService, startFaulty } from './support/scenes/faulty-handlers.ts'

describe('a service with failing handlers', () => {
  let running: FaultyService

  before(async () => {
    running = await startFaulty()
  })
  after(async () => {
    expect(await running?.service.end('SIGTERM')).to.equal(0)
    running?.remove()
  })

  it('answers correctly and in time, and finally delivers every event', async () => {
    const { service, notes, ends } = running
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
    await eventually('all events', () => emails.every((email) => delivered().has(email)))
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
})
