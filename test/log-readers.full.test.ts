import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import { eventually } from './support/eventually.ts'
import { freePort } from './support/servers/ports.ts'
import { executable, scratchFolder } from './support/services/spawned-service.ts'
import { together } from './support/together.ts'

/** More lines than a pipe has room for. */
const count = 1_000

/** A service that logs every request, and the address that it listens on. */
async function serviceLoggingTo(
  stderr: 'pipe' | 'ignore' | number,
  stdout: 'ignore' | number = 'ignore',
): Promise<{ child: ChildProcess; url: string }> {
  const folder = scratchFolder()
  const port = await freePort()
  const stdio: StdioOptions = ['ignore', stdout, stderr]
  const env = {
    PATH: process.env.PATH,
    PORTCULLIS_HTTP__PORT: String(port),
    PORTCULLIS_LOGS__REQUESTS: 'all',
    PORTCULLIS_HANDLERS__CONSOLE: 'true',
    PORTCULLIS_STORES__USERS__KIND: 'memory',
    PORTCULLIS_DATA_FOLDER: join(folder, 'data'),
  }
  const child = spawn(process.execPath, [executable, 'serve'], { cwd: folder, env, stdio })
  process.once('exit', () => child.kill('SIGKILL'))
  const url = `http://127.0.0.1:${port}/healthz`
  for (let attempt = 0; attempt < 1200; attempt++) {
    const answer = await fetch(url).catch(() => null)
    if (answer?.ok) return { child, url }
    await delay(50)
  }
  throw new Error('the service does not answer')
}

const idOf = (at: number): string => `asked-${String(at).padStart(4, '0')}`

async function ask(url: string): Promise<void> {
  for (let at = 0; at < count; at++) {
    const answer = await fetch(url, { headers: { 'X-Request-Id': idOf(at) } })
    expect(answer.status).to.equal(200)
    await answer.arrayBuffer()
  }
}

/** The exit code, or the signal. */
async function end(child: ChildProcess): Promise<unknown> {
  child.kill('SIGTERM')
  const [code, signal] = await once(child, 'exit')
  return code ?? signal
}

async function nobodyReads(): Promise<void> {
  const { child, url } = await serviceLoggingTo('pipe')
  await ask(url)
  expect(await end(child)).to.equal(0)
}

async function isReadLate(): Promise<void> {
  const { child, url } = await serviceLoggingTo('pipe')
  await ask(url)
  const ended = end(child)
  await delay(100)
  const { stderr } = child
  if (stderr === null) throw new Error('standard error is no pipe')
  const written = text(stderr)
  expect(await ended).to.equal(0)
  const lines = (await written).split('\n').filter((line) => line.startsWith('{') || line.includes('asked-'))
  const asked = lines.map((line) => JSON.parse(line).requestId).filter((id) => id?.startsWith('asked-'))
  expect(asked).to.deep.equal(Array.from({ length: count }, (_, at) => idOf(at)))
}

async function hasNoRoom(): Promise<void> {
  const { child, url } = await serviceLoggingTo(openSync('/dev/full', 'w'))
  await ask(url)
  expect(await end(child)).to.equal(0)
}

async function eventsHaveNoRoom(): Promise<void> {
  const { child, url } = await serviceLoggingTo('pipe', openSync('/dev/full', 'w'))
  let log = ''
  child.stderr?.setEncoding('utf8').on('data', (chunk) => {
    log += chunk
  })
  const email = 'arthur@example.com'
  await fetch(new URL('/auth/register', url), {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ email, password: 'correct horse battery staple' }),
  })
  await eventually('a delivery that failed', () => log.includes('"delivery failed"'))
  expect((await fetch(url)).status).to.equal(200)
  expect(await end(child)).to.equal(0)
}

describe('a service', () => {
  together([
    { title: 'goes on without a reader of its log, and stops at SIGTERM', run: nobodyReads },
    { title: 'loses no line and keeps their order when its log is read late', run: isReadLate },
    ...(existsSync('/dev/full')
      ? [
          { title: 'goes on when its log is on a full disk, and stops at SIGTERM', run: hasNoRoom },
          { title: 'goes on and retries events when its standard output is on a full disk', run: eventsHaveNoRoom },
        ]
      : []),
  ])
})
