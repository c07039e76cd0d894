import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import { expect } from 'chai'
import { scratchModule } from '../adapters/events/scratch-module.ts'
import { eventually } from '../support/eventually.ts'
import { call, goodPassword, logIn, register } from '../support/http/client.ts'
import { portcullis } from '../support/process/command-line.ts'
import { enrol } from '../support/scenes/enrol.ts'
import { superuserToken } from '../support/scenes/superuser.ts'
import { faultProxy } from '../support/servers/fault-proxy.ts'
import { needsDeployment, onMongo } from '../support/services/deployments.ts'
import type { PrintedEvent } from '../support/services/spawned-service.ts'
import { type Spawned, scratchFolder, spawnService, spawnWorker } from '../support/services/spawned-service.ts'

const relayOff = { PORTCULLIS_EVENTS__RELAY: 'off' }

const printed = (process: Spawned, event: string): Promise<PrintedEvent> =>
  eventually(event, () => process.events.find((one) => one.event === event))

async function endAll(...processes: readonly Spawned[]): Promise<void> {
  const ends = await Promise.all(processes.map((process) => process.end('SIGTERM')))
  expect(new Set(ends)).to.deep.equal(new Set([0]))
}

describe('a worker', () => {
  it('delivers events and removes expired sessions for a service with events.relay off, and opens no port', async () => {
    const folder = scratchFolder()
    const env = {
      PORTCULLIS_BACKENDS__COOKIE__STRATEGY__LIFETIME_SECONDS: '1',
      PORTCULLIS_BACKENDS__COOKIE__STRATEGY__IDLE_SECONDS: '1',
    }
    const before = await spawnService(env, folder)
    await register(before.url, 'ada@example.com')
    const form = { username: 'ada@example.com', password: goodPassword }
    expect((await call(before.url, 'POST', '/auth/cookie/login', { form })).status).to.equal(204)
    await printed(before, 'on_after_login')
    await endAll(before)
    await delay(1100) // the session expires

    const service = await spawnService({ ...env, ...relayOff }, folder)
    const { port } = new URL(service.url)
    await register(service.url, 'bob@example.com')
    expect(sessionsIn(folder)).to.equal(1)

    const worker = await spawnWorker({ ...env, PORTCULLIS_HTTP__PORT: port }, folder)
    expect((await printed(worker, 'on_after_register')).user.email).to.equal('bob@example.com')
    await eventually('the expired session to be swept', () => sessionsIn(folder) === 0)
    await endAll(service)
    const socket = connect(Number(port), '127.0.0.1')
    const [refusal] = await Promise.race([once(socket, 'error'), once(socket, 'connect').then(() => [null])])
    socket.destroy()
    expect(refusal).to.include({ code: 'ECONNREFUSED' })
    expect(service.events).to.deep.equal([])
    await endAll(worker)
  })

  it('warns of the tenants that have no handlers, also after SIGHUP', async () => {
    const folder = scratchFolder()
    const settle = (list: object) =>
      writeFile(join(folder, 'portcullis.config.json'), JSON.stringify({ tenants: { by: 'path', list } }))
    const acme = { handlers: { console: true } }
    await settle({ acme, bolt: {} })
    const worker = await spawnWorker({ PORTCULLIS_HANDLERS__CONSOLE: '' }, folder)
    const warnings = () =>
      worker.errors
        .filter((line) => line.includes('there are no handlers'))
        .map((line) => JSON.parse(line))
        .map(({ count, tenants }) => ({ count, tenants }))
    expect(warnings()).to.deep.equal([{ count: 1, tenants: ['bolt'] }])
    await settle({ acme, bolt: {}, core: acme, dyne: {} })
    process.kill(worker.pid, 'SIGHUP')
    await eventually('a second warning', () => warnings().length === 2)
    expect(warnings()[1]).to.deep.equal({ count: 2, tenants: ['bolt', 'dyne'] })
    await endAll(worker)
  })

  it('hands out tokens that the service accepts', async () => {
    const folder = scratchFolder()
    const [service, worker] = await Promise.all([spawnService(relayOff, folder), spawnWorker({}, folder)])
    const { email } = await register(service.url, 'ada@example.com')
    await call(service.url, 'POST', '/auth/forgot-password', { json: { email } })
    await call(service.url, 'POST', '/auth/request-verify-token', { json: { email } })
    const verify = { token: (await printed(worker, 'on_after_request_verify')).token }
    expect((await call(service.url, 'POST', '/auth/verify', { json: verify })).status).to.equal(200)
    const reset = { token: (await printed(worker, 'on_after_forgot_password')).token, password: 'tide-lamp-quartz' }
    expect((await call(service.url, 'POST', '/auth/reset-password', { json: reset })).status).to.equal(200)
    await logIn(service.url, email, reset.password)
    await endAll(service, worker)
  })

  it('calls every handler except on_before_delete, which the service calls itself', async () => {
    const folder = scratchFolder()
    const module = scratchModule(`
      const told = (name) => (user) => note({ name, email: user.email, pid: process.pid })
      export const on_after_register = told('register')
      export const on_after_login = told('login')
      export const on_after_delete = told('delete')
      export function on_before_delete(user) {
        told('before delete')(user)
        if (user.email.startsWith('keep')) throw { reason: 'keep it' }
      }`)
    const env = { ...relayOff, PORTCULLIS_HANDLERS__MODULE: fileURLToPath(module.url) }
    const [service, worker] = await Promise.all([spawnService(env, folder), spawnWorker(env, folder)])
    const bearer = await superuserToken(service.url, env, join(folder, 'data'))
    const kept = await register(service.url, 'keep@example.com')
    const gone = await register(service.url, 'go@example.com')
    await logIn(service.url, 'go@example.com')
    const remove = ({ id }: { id: string }) => call(service.url, 'DELETE', `/users/${id}`, { bearer })
    expect((await remove(kept)).status).to.equal(400)
    expect((await remove(gone)).status).to.equal(204)

    type Note = { name: string; email: string; pid: number }
    const notes = () => module.notes() as Note[] // safe: the module above writes nothing else
    await eventually('the deletion to be told', () => notes().some(({ name }) => name === 'delete'))
    const by = (pid: number, email: string) =>
      notes().flatMap((one) => (one.pid === pid && one.email === email ? [one.name] : []))
    expect(by(worker.pid, 'go@example.com')).to.deep.equal(['register', 'login', 'delete'])
    expect(by(service.pid, 'go@example.com')).to.deep.equal(['before delete'])
    expect(by(service.pid, 'keep@example.com')).to.deep.equal(['before delete'])
    await endAll(service, worker)
    module.remove()
  })

  it('refuses users in memory, which no other process can reach', async () => {
    const { code, err } = await portcullis(['worker'], { env: { PORTCULLIS_STORES__USERS__KIND: 'memory' } })
    expect(code).to.equal(2)
    expect(err).to.include('stores.users.kind: is memory')
  })

  it('waits for a store that is down when it starts, and logs each later outage', async function () {
    await needsDeployment(this, onMongo)
    const settings = await onMongo.settings()
    const url = new URL(settings.PORTCULLIS_STORES__USERS__URL ?? '')
    const proxy = await faultProxy(Number(url.port))
    await proxy.set('refuse')
    url.port = `${proxy.port}`
    const folder = scratchFolder()
    const worker = await spawnWorker({ ...settings, PORTCULLIS_STORES__USERS__URL: url.href }, folder)
    await enrol(settings, folder, ['ada@example.com'])
    await eventually('a failure', () => worker.errors.some((line) => line.includes('a store is down')))
    expect(worker.events).to.deep.equal([])
    await proxy.set('pass')
    expect((await printed(worker, 'on_after_register')).user.email).to.equal('ada@example.com')
    await proxy.set('refuse')
    await eventually('an outage', () => worker.errors.some((line) => line.includes('"a store does not answer"')))
    await proxy.set('pass')
    await eventually('its end', () => worker.errors.some((line) => line.includes('"the store answers again"')))
    await endAll(worker)
    await proxy.close()
    await onMongo.remove(settings)
  })

  it('releases its leases at SIGTERM although a handler hangs', async () => {
    const folder = scratchFolder()
    const module = scratchModule(
      `export const on_after_register = (user, { eventId }) => {
       const isFirst = !notes().includes(eventId)
       note({ eventId, pid: process.pid })
       if (isFirst) return new Promise(() => {})
     }`,
    )
    const env = {
      PORTCULLIS_HANDLERS__MODULE: fileURLToPath(module.url),
      PORTCULLIS_HANDLERS__TIMEOUT_SECONDS: '60',
      PORTCULLIS_EVENTS__LEASE_SECONDS: '3600',
    }
    const [first, second] = await Promise.all([spawnWorker(env, folder), spawnWorker(env, folder)])
    await enrol(env, join(folder, 'data'), ['ada@example.com'])
    type Note = { eventId: string; pid: number }
    const notes = () => module.notes() as Note[] // safe: the module above writes nothing else
    const note = await eventually('a handler to be called', () => notes()[0])
    const [holder, other] = note.pid === first.pid ? [first, second] : [second, first]

    expect(await holder.end('SIGTERM')).to.equal(0)
    await eventually('the other worker to take it over', () => notes().length === 2)
    expect(notes()[1]).to.deep.equal({ eventId: note.eventId, pid: other.pid })
    expect(await other.end('SIGTERM')).to.equal(0)
    module.remove()
  })
})

function sessionsIn(folder: string): number {
  const db = new Database(join(folder, 'data', 'portcullis.sqlite'), { readonly: true })
  try {
    return db.prepare<[], number>('SELECT count(*) FROM sessions').pluck().get() ?? 0
  } finally {
    db.close()
  }
}
