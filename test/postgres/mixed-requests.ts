import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { scratchModule } from '../adapters/events/scratch-module.ts'
import type { Start } from '../races/site.ts'
import { eventually } from '../support/eventually.ts'
import { type Answer, call, goodPassword, type Sent } from '../support/http/client.ts'
import { figure } from '../support/http/figures.ts'
import { each } from '../support/http/sender.ts'
import { median, quantile } from '../support/http/statistics.ts'
import { quickest } from '../support/scenes/quickest.ts'
import { startPgBouncer } from '../support/servers/pgbouncer.ts'
import { startPostgres } from '../support/servers/postgres-server.ts'
import { goodSecret } from '../support/services/settings.ts'
import { scratchFolder, spawnWorker } from '../support/services/spawned-service.ts'

const clients = 24
const requestsOfPerson = 10

interface Note {
  readonly id: string
  readonly event: string
  readonly email: string
  readonly at: number
}

const noting = ['register', 'login', 'update', 'forgot_password'].map(
  (event) => `export function on_after_${event}({ email }, ...rest) {
    note({ event: '${event}', email, id: rest.pop().eventId, at: Date.now() })
  }`,
)

/**
 * People use several processes behind PgBouncer in transaction mode: first many at once, then a few one after the other. Each
 * request goes to the next process, and none may fail. A worker finds the events by polling alone.
 *
 * @returns the milliseconds from the answer of each request of the few to the call of the handler
 */
export async function requestsBehindPooler(start: Start, many: number, few: number): Promise<readonly number[]> {
  const server = await startPostgres()
  await server.query(`
    CREATE ROLE pooled LOGIN;
    ALTER ROLE pooled SET statement_timeout = 2000;
    ALTER ROLE pooled SET lock_timeout = 1500;
    ALTER ROLE pooled SET idle_in_transaction_session_timeout = 4000;
    ALTER ROLE pooled SET search_path = pg_catalog`)
  const url = (await server.newDatabase('OWNER pooled')).replace('postgres@', 'pooled@')
  const settings = ['default_pool_size = 20', 'ignore_startup_parameters = extra_float_digits']
  const pooler = await startPgBouncer(server.port, { users: ['pooled'], settings })
  const module = scratchModule(noting.join('\n'))
  /** The first delivery of each event: on a busy machine an event may arrive twice. */
  function notes(): readonly Note[] {
    const all = module.notes() as Note[] // safe: the module above writes nothing else
    return [...new Map(all.reverse().map((note) => [note.id, note])).values()].reverse()
  }
  const env = {
    ...quickest,
    PORTCULLIS_STORES__USERS__KIND: 'postgres',
    PORTCULLIS_STORES__USERS__URL: pooler.through(url),
    PORTCULLIS_SECRET: goodSecret,
    PORTCULLIS_HANDLERS__MODULE: fileURLToPath(module.url),
  }
  const services = await start({ ...env, PORTCULLIS_EVENTS__RELAY: 'off' }, join(scratchFolder(), 'data'))
  const worker = await spawnWorker(env)
  const failures: string[] = []
  /** By event and address: the times of the answers. */
  const due = new Map<string, number[]>()
  let requests = 0

  async function sent(status: number, method: string, path: string, what: Sent): Promise<Answer> {
    const answer = await call(services.urls[requests++ % services.urls.length] ?? '', method, path, what)
    if (answer.status !== status) failures.push(`${method} ${path} ${answer.status} ${answer.text}`)
    return answer
  }

  function expects(event: string, email: string): void {
    const key = `${event} ${email}`
    due.set(key, [...(due.get(key) ?? []), Date.now()])
  }

  async function live(name: string): Promise<void> {
    const [first, email] = [`${name}@example.com`, `${name}.changed@example.com`]
    const form = { username: first, password: goodPassword }
    await sent(201, 'POST', '/auth/register', { json: { email: first, password: goodPassword } })
    expects('register', first)
    const { body } = await sent(200, 'POST', '/auth/jwt/login', { form })
    expects('login', first)
    const bearer = (body as { access_token: string }).access_token // safe: 200 carries a token
    await sent(200, 'GET', '/users/me', { bearer })
    const login = await sent(204, 'POST', '/auth/cookie/login', { form })
    expects('login', first)
    const [cookie = ''] = (login.headers.get('Set-Cookie') ?? '').split(';')
    await sent(200, 'GET', '/users/me', { cookie })
    await sent(200, 'PATCH', '/users/me', { bearer, json: { email } })
    expects('update', email)
    const me = await sent(200, 'GET', '/users/me', { bearer })
    if ((me.body as { email: string }).email !== email) failures.push(`${first} is still ${me.text}`)
    await sent(202, 'POST', '/auth/forgot-password', { json: { email } })
    expects('forgot_password', email)
    await sent(204, 'POST', '/auth/cookie/logout', { cookie })
    await sent(401, 'GET', '/users/me', { cookie })
  }

  const began = performance.now()
  await each(many, clients, (at) => live(`many-${at}`))
  const seconds = (performance.now() - began) / 1000
  await each(few, 1, (at) => live(`few-${at}`))
  const total = [...due.values()].reduce((sum, times) => sum + times.length, 0)
  await eventually('every event', () => notes().length >= total)
  expect(failures).to.deep.equal([])
  expect(requests).to.equal((many + few) * requestsOfPerson)

  const delaysOf = (group: string) =>
    notes()
      .filter(({ email }) => email.startsWith(group))
      .map(({ event, email, at }) => {
        const answered = due.get(`${event} ${email}`)?.shift() ?? expect.fail(`${event} of ${email} was not expected`)
        return at - answered
      })
  const [amidMany, amidFew] = [delaysOf('many'), delaysOf('few')]
  await services.stop()
  expect(await worker.end('SIGTERM')).to.equal(0)
  const warnings = [...services.logged(), ...worker.errors].filter((line) => /"level":[456]0/.test(line))
  figure('requests behind PgBouncer', {
    requests: many * requestsOfPerson,
    'requests per second': (many * requestsOfPerson) / seconds,
    failures: failures.length,
    warnings: warnings.length,
    events: amidMany.length,
    'median ms to the handler': median(amidMany),
    'p99 ms': quantile(amidMany, 0.99),
    'slowest ms': Math.max(...amidMany),
  })
  figure('one request after the other', {
    events: amidFew.length,
    'median ms to the handler': median(amidFew),
    'slowest ms': Math.max(...amidFew),
  })
  await pooler.close()
  await server.destroy()
  module.remove()
  return amidFew
}
