import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, openSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { scratchModule } from './adapters/events/scratch-module.ts'
import { eventually } from './support/eventually.ts'
import { type Answer, call, goodPassword, logIn, register } from './support/http/client.ts'
import { connected, jsonPost } from './support/http/sockets.ts'
import { quickest } from './support/scenes/quickest.ts'
import { goodSecret } from './support/services/settings.ts'
import { type Spawned, scratchFolder, spawnService, spawnWorker } from './support/services/spawned-service.ts'
import { together } from './support/together.ts'

const noLimit = { PORTCULLIS_PASSWORDS__MAX_WAIT_SECONDS: '60', ...quickest }

/** Expects an orderly end: after 9.7 s the process would kill itself. */
async function expectEnd(service: Spawned, signal: NodeJS.Signals): Promise<void> {
  expect(await service.end(signal)).to.equal(0)
}

describe('a service that gets a signal to stop', () => {
  it('answers its running requests, and accepts no new connection', async () => {
    const folder = scratchFolder()
    const service = await spawnService(noLimit, folder)
    const emails = Array.from({ length: 8 }, (_, at) => `witness-${at}@example.com`)
    const registrations = await Promise.all(emails.map((email) => beginRegistration(service.url, email)))

    const ending = service.end('SIGTERM')
    await eventually('a refused connection', () => isRefused(Number(new URL(service.url).port)))
    const answers = await Promise.all(registrations.map((complete) => complete()))
    for (const answer of answers) expect(answer).to.match(/^HTTP\/1\.1 201 /)
    expect(await ending).to.equal(0)

    const next = await spawnService(noLimit, folder)
    await Promise.all(emails.map((email) => logIn(next.url, email)))
    const delivered = () => new Set([...service.events, ...next.events].map(({ user }) => user.email))
    await eventually('an event of each', () => emails.every((email) => delivered().has(email)))
    await expectEnd(next, 'SIGTERM')
  })

  it('sends complete answers on keep-alive connections', async () => {
    const service = await spawnService(noLimit)
    const { email } = await register(service.url, 'reader@example.com')
    const bearer = await logIn(service.url, email)
    const answers: Answer[] = []
    const clients = Array.from({ length: 16 }, async () => {
      for (;;) {
        // A connection that is closed before it has answered anything was not taken on; half an answer would throw.
        const answer = await call(service.url, 'GET', '/users/me', { bearer }).catch((error: Error) => error)
        if (answer instanceof Error) return answer
        answers.push(answer)
      }
    })
    await eventually('some answers', () => answers.length > 500)
    await expectEnd(service, 'SIGTERM')
    const lastWords = await Promise.all(clients)
    for (const error of lastWords) expect(error.message, String(error.cause)).to.equal('fetch failed')
    expect(answers.filter(({ status }) => status !== 200)).to.deep.equal([])
  })

  it('ignores further signals, such as the second one that npm sends', async () => {
    const service = await spawnService(noLimit)
    const complete = await beginRegistration(service.url, 'witness@example.com')
    const isStopping = (times: number) => () =>
      service.errors.filter((line) => line.includes('"stopping"')).length === times
    for (const [at, signal] of (['SIGINT', 'SIGINT', 'SIGTERM'] as const).entries()) {
      process.kill(service.pid, signal)
      await eventually(`signal ${at + 1}`, isStopping(at + 1))
    }
    expect(await complete()).to.match(/^HTTP\/1\.1 201 /)
    await expectEnd(service, 'SIGINT')
  })

  it('ignores SIGHUP during its start, and so does a worker', async () => {
    const hooks = `export async function load(url, context, next) {
      if (/\\/(serve|worker)-\\w+\\.js$/.test(url)) process.kill(process.pid, 'SIGHUP')
      return next(url, context)
    }`
    const preload = `import { register } from 'node:module'; register(${JSON.stringify(scriptUrl(hooks))})`
    const env = { ...noLimit, NODE_OPTIONS: `--import=${scriptUrl(preload)}` }
    const [service, worker] = await Promise.all([spawnService(env), spawnWorker(env)])
    await Promise.all([expectEnd(service, 'SIGTERM'), expectEnd(worker, 'SIGTERM')])
  })

  // Each takes as long as the grace period.
  together([
    {
      title: 'ends in time despite silent connections and an incomplete request',
      run: endWithIdleConnections,
    },
    {
      title: 'ends in time while a handler hangs, and delivers its event after the next start',
      run: () => endAmidDelivery('return new Promise(() => {})'),
    },
    {
      title: 'ends in time while a handler loops for ever, and delivers its event after the next start',
      run: () => endAmidDelivery('for (;;);'),
    },
    {
      title: 'kills itself in time while a thread hangs in a system call',
      run: endAmidSystemCall,
    },
  ])
})

async function isRefused(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  const code = await once(socket, 'connect').then(
    () => null,
    (error: NodeJS.ErrnoException) => error.code,
  )
  socket.destroy()
  return code === 'ECONNREFUSED'
}

/** Sends a registration without its last byte. The function sends that byte, and resolves to the answer. */
async function beginRegistration(url: string, email: string): Promise<() => Promise<string>> {
  const request = jsonPost('/auth/register', { email, password: goodPassword })
  const { socket, closed } = await connected(url)
  socket.write(request.slice(0, -1))
  return () => {
    socket.write(request.slice(-1))
    return closed()
  }
}

function scriptUrl(script: string): string {
  return `data:text/javascript,${encodeURIComponent(script)}`
}

async function endWithIdleConnections(): Promise<void> {
  const service = await spawnService(noLimit)
  const port = Number(new URL(service.url).port)
  const silent = connect(port, '127.0.0.1')
  const halting = connect(port, '127.0.0.1')
  for (const socket of [silent, halting]) socket.on('error', () => {})
  await Promise.all([once(silent, 'connect'), once(halting, 'connect')])
  halting.write('POST /auth/register HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{')
  await expectEnd(service, 'SIGTERM')
}

/** @param statement run by the handler at its first call */
async function endAmidDelivery(statement: string): Promise<void> {
  const module = scratchModule(
    `export const on_after_register = (user, { eventId }) => {
       const isFirst = !notes().includes(eventId)
       note({ email: user.email, eventId })
       if (isFirst) ${statement}
     }`,
  )
  const env = { ...noLimit, PORTCULLIS_HANDLERS__MODULE: fileURLToPath(module.url) }
  const folder = scratchFolder()
  const service = await spawnService(env, folder)
  await register(service.url, 'witness@example.com')
  await eventually('the handler to be called', () => module.notes().length === 1)
  await expectEnd(service, 'SIGTERM')

  const next = await spawnService(env, folder)
  await eventually('the handler to be called again', () => module.notes().length === 2)
  const [first, second] = module.notes()
  expect(second).to.deep.equal(first)
  await expectEnd(next, 'SIGTERM')
  module.remove()
}

async function endAmidSystemCall(): Promise<void> {
  const folder = scratchFolder()
  const secret = join(folder, 'secret')
  await writeFile(join(folder, 'portcullis.config.json'), JSON.stringify({ tenants: { by: 'header', list: {} } }))
  await writeFile(secret, goodSecret)
  const service = await spawnService({ ...noLimit, PORTCULLIS_SECRET_FILE: secret }, folder)
  await rm(secret)
  execFileSync('mkfifo', [secret])
  process.kill(service.pid, 'SIGHUP')
  const writer = await eventually('the service to read the secret', () => openWriter(secret))
  expect(await service.end('SIGTERM')).to.equal('SIGKILL')
  closeSync(writer)
  expect(service.errors.some((line) => line.includes('the process did not stop in time'))).to.equal(true)
}

/** Opens a FIFO to which nothing is written; `null` while no process reads it. */
function openWriter(path: string): number | null {
  try {
    return openSync(path, constants.O_WRONLY | constants.O_NONBLOCK)
  } catch {
    return null
  }
}
