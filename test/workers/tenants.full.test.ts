import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { eventually } from '../support/eventually.ts'
import { call, goodPassword, untilAvailable } from '../support/http/client.ts'
import { portcullis } from '../support/process/command-line.ts'
import { SettingsFolder } from '../support/services/settings.ts'
import type { PrintedEvent } from '../support/services/spawned-service.ts'
import { type Spawned, type SpawnedService, spawnService, spawnWorker } from '../support/services/spawned-service.ts'
import { together } from '../support/together.ts'

describe('a worker for tenants', () => {
  together(
    [
      { title: 'delivers events and tokens of more tenants than may be open', run: inFolder(deliverInTurns) },
      { title: 'delivers only for the tenant of --tenant', run: inFolder(keepToOne) },
      { title: 'applies new, changed and removed tenants at SIGHUP', run: inFolder(takeUpChanges) },
      { title: 'leaves out tenants with users in memory', run: inFolder(leaveOutMemory) },
      { title: 'runs without tenants, and begins with the first one at SIGHUP', run: inFolder(liveWithoutAny) },
      {
        title: 'goes on when the only tenant cannot be opened, and logs the reason',
        run: inFolder(liveOnWhereOneFails),
      },
    ],
    2,
  )
})

/** Settings of tenants, and processes that run on them. */
interface Scene {
  readonly folder: SettingsFolder
  settle(list: object, more?: object): Promise<string>
  service(): Promise<SpawnedService>
  worker(...args: string[]): Promise<Spawned>
  /** The processes that were started here. */
  running(): readonly Spawned[]
}

/** Gives `act` a scene of its own. Every process of it has to end with exit code 0. */
function inFolder(act: (scene: Scene) => Promise<void>): () => Promise<void> {
  return async () => {
    const folder = new SettingsFolder()
    await folder.open()
    const running: Spawned[] = []
    const kept = <T extends Spawned>(one: T): T => {
      running.push(one)
      return one
    }
    const end = () => Promise.all(running.splice(0).map((one) => one.end('SIGTERM')))
    try {
      await act({
        folder,
        settle: (list, more = {}) =>
          folder.write(
            'portcullis.config.json',
            JSON.stringify({ events: { relay: 'off' }, tenants: { by: 'header', list, ...more } }),
          ),
        service: async () => kept(await spawnService({}, folder.path)),
        worker: async (...args) => kept(await spawnWorker({}, folder.path, args)),
        running: () => running,
      })
      expect((await end()).filter((how) => how !== 0)).to.deep.equal([])
    } finally {
      await end()
      await folder.remove()
    }
  }
}

async function post(to: SpawnedService, tenant: string, path: string, json: object): Promise<number> {
  const headers = { 'X-Tenant': tenant }
  return (await untilAvailable(() => call(to.url, 'POST', path, { json, headers }))).status
}

async function register(to: SpawnedService, tenant: string, email = `${tenant}@example.com`): Promise<void> {
  expect(await post(to, tenant, '/auth/register', { email, password: goodPassword })).to.equal(201)
}

const told = ({ events }: Spawned, tenant: string, email = `${tenant}@example.com`) =>
  events.some((one: PrintedEvent) => one.tenant === tenant && one.user.email === email)

async function deliverInTurns({ settle, service, worker }: Scene): Promise<void> {
  const names = ['a', 'b', 'c', 'd', 'e']
  await settle(Object.fromEntries(names.map((name) => [name, {}])), { maxOpen: 2 })
  const [serving, working] = await Promise.all([service(), worker()])
  for (const round of ['first', 'second']) {
    for (const name of names) await register(serving, name, `${round}@example.com`)
    await eventually(`events of the ${round} round`, () =>
      names.every((name) => told(working, name, `${round}@example.com`)),
    )
  }
  for (const name of names) await post(serving, name, '/auth/forgot-password', { email: 'first@example.com' })
  const tokens = () => new Set(working.events.flatMap((one) => (one.token === undefined ? [] : [one.tenant])))
  await eventually('a token for each', () => tokens().size === names.length)
  expect(serving.events).to.deep.equal([])
}

async function keepToOne({ folder, settle, service, worker }: Scene): Promise<void> {
  await settle({ a: {}, b: {} })
  const [serving, working] = await Promise.all([service(), worker('--tenant', 'a')])
  await register(serving, 'b')
  await register(serving, 'a')
  await eventually('the event of a', () => told(working, 'a'))
  expect(told(working, 'b')).to.equal(false)
  const { code, err } = await portcullis(['--tenant', 'nobody', 'worker'], { cwd: folder.path })
  expect(code).to.equal(2)
  expect(err).to.include('there is no tenant nobody')
}

async function takeUpChanges({ settle, service, worker, running }: Scene): Promise<void> {
  await settle({ a: {}, b: {} })
  const [serving, working] = await Promise.all([service(), worker()])
  await register(serving, 'a')
  await register(serving, 'b')
  await eventually('events of both', () => told(working, 'a') && told(working, 'b'))

  await settle({ a: { tokens: { resetLifetimeSeconds: 60 } }, late: {} })
  for (const one of running()) process.kill(one.pid, 'SIGHUP')
  for (const one of running()) {
    await eventually('the settings to be read', () => one.errors.some((line) => line.includes('reloaded the tenants')))
  }
  await register(serving, 'late')
  await register(serving, 'a', 'again@example.com')
  await eventually('events of both', () => told(working, 'late') && told(working, 'a', 'again@example.com'))
  expect((await fetch(`${serving.url}/users/me`, { headers: { 'X-Tenant': 'b' } })).status).to.equal(404)
}

async function leaveOutMemory({ folder, settle, service, worker }: Scene): Promise<void> {
  await settle({ a: {}, fleeting: { stores: { users: { kind: 'memory' } } } })
  const [serving, working] = await Promise.all([service(), worker()])
  await register(serving, 'a')
  await eventually('the event of a', () => told(working, 'a'))
  const said = working.errors.filter((line) => line.includes('a tenant is disabled'))
  expect(said).to.have.lengthOf(1)
  expect(said[0]).to.include('"tenant":"fleeting"').and.include('stores.users.kind')

  const { code } = await portcullis(['--tenant', 'fleeting', 'worker'], { cwd: folder.path })
  expect(code).to.equal(2)
}

async function liveWithoutAny({ settle, service, worker }: Scene): Promise<void> {
  await settle({})
  const working = await worker()
  await settle({ a: {} })
  process.kill(working.pid, 'SIGHUP')
  const serving = await service()
  await register(serving, 'a')
  await eventually('the event of a', () => told(working, 'a'))
}

async function liveOnWhereOneFails({ folder, settle, worker }: Scene): Promise<void> {
  await settle({ a: {} })
  await mkdir(join(folder.path, 'data', 'tenants', 'a'), { recursive: true, mode: 0o700 })
  await folder.write('data/tenants/a/portcullis.sqlite', 'no database, but long enough to be taken for one'.repeat(99))
  const working = await worker()
  await eventually('the reason', () => working.errors.some((line) => line.includes('a tenant cannot be opened')))
}
