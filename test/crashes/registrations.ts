import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { expect } from 'chai'
import { eventually } from '../support/eventually.ts'
import { call, goodPassword, logIn } from '../support/http/client.ts'
import { rounds } from '../support/mocha/long.ts'
import { type Deployment, onSqlite } from '../support/services/deployments.ts'
import { type SpawnedService, scratchFolder, spawnService } from '../support/services/spawned-service.ts'
import { lease, promisedSeconds } from './lease.ts'

const clients = rounds(4, 8)

/** The clients' own record: the answered user of each address, `null` without an answer. The kill does not touch it. */
type Journal = Map<string, { readonly id: string } | null>

/** Registers people, several at a time, until the service is gone. */
async function register(url: string, journal: Journal): Promise<void> {
  await Promise.all(
    Array.from({ length: clients }, async () => {
      for (;;) {
        const email = `witness-${journal.size}@example.com`
        journal.set(email, null)
        const json = { email, password: goodPassword }
        const answer = await call(url, 'POST', '/auth/register', { json }).catch(() => null)
        if (answer === null) return
        expect(answer.status, answer.text).to.equal(201)
        journal.set(email, answer.body as { id: string }) // safe: 201 carries a User
      }
    }),
  )
}

/** Kills the service over and over amid a stream of registrations, and checks the stored records afterwards. */
export async function killAmidRegistrations(deployment: Deployment, times: number): Promise<void> {
  const settings = await deployment.settings()
  const env = { ...settings, ...lease, PORTCULLIS_PASSWORDS__MAX_WAIT_SECONDS: '60' }
  const folder = scratchFolder()
  const journal: Journal = new Map()
  const lives: SpawnedService[] = []
  let service = await spawnService(env, folder)

  for (let round = 0; round < times; round += 1) {
    lives.push(service)
    const known = journal.size
    const stream = register(service.url, journal)
    try {
      await eventually('registrations', () => journal.size > known + 2 * clients)
      await delay(Math.random() * 250)
    } finally {
      expect(await service.end('SIGKILL')).to.equal('SIGKILL') // which ends the stream, too
    }
    await stream
    if (deployment === onSqlite) await expectSound(join(folder, 'data'))
    service = await spawnService(env, folder)
  }
  lives.push(service)

  const emails = [...journal.keys()]
  const answered = emails.filter((email) => journal.get(email) !== null)
  const told = (some: readonly string[]): boolean => {
    const registered = lives.flatMap(({ events }) => events).filter(({ event }) => event === 'on_after_register')
    const printed = new Set(registered.map(({ user }) => user.email))
    return some.every((email) => printed.has(email))
  }
  await Promise.all([
    eventually('an event of each answered registration', () => told(answered), promisedSeconds),
    Promise.all(Array.from({ length: clients }, (_, at) => judge(emails.filter((_, each) => each % clients === at)))),
  ])
  await eventually('an event of each registration', () => told(emails), promisedSeconds)

  expect(await service.end('SIGTERM')).to.equal(0)
  if (deployment === onSqlite) await expectSound(join(folder, 'data'))
  await deployment.remove(settings)

  async function judge(some: readonly string[]): Promise<void> {
    for (const email of some) {
      if (journal.get(email) !== null) await logIn(service.url, email)
      else await expectWhole(service.url, email)
    }
  }
}

/** An unanswered registration is there as a whole, or its address is still free. */
async function expectWhole(url: string, email: string): Promise<void> {
  const form = { username: email, password: goodPassword }
  const { status } = await call(url, 'POST', '/auth/jwt/login', { form })
  if (status === 200) return
  const again = await call(url, 'POST', '/auth/register', { json: { email, password: goodPassword } })
  expect(again.status, 'neither registered nor free').to.equal(201)
}

/** Judges a copy, so that it is the service and not this process that recovers the file. */
async function expectSound(dataFolder: string): Promise<void> {
  const copy = join(scratchFolder(), 'copy')
  await cp(dataFolder, copy, { recursive: true })
  const db = new Database(join(copy, 'portcullis.sqlite'))
  try {
    expect(db.pragma('integrity_check')).to.deep.equal([{ integrity_check: 'ok' }])
    expect(db.pragma('foreign_key_check')).to.deep.equal([])
  } finally {
    db.close()
  }
}
