import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import { derivedKeys } from '../src/adapters/crypto/derived-keys.ts'
import { providerVault } from '../src/adapters/crypto/provider-vault.ts'
import { openStore } from '../src/index.ts'
import { anAccount, aUser } from '../src/testing/builders.ts'
import { eventually } from './support/eventually.ts'
import { call, logIn, logInByCookie, register } from './support/http/client.ts'
import { portcullis } from './support/process/command-line.ts'
import { quickest } from './support/scenes/quickest.ts'
import { executable, type SpawnedService, scratchFolder, spawnService } from './support/services/spawned-service.ts'

const email = 'ada@example.com'
const users = 1100

describe('the secret of two processes', () => {
  const folder = scratchFolder()
  const env = {
    PORTCULLIS_DATA_FOLDER: join(folder, 'data'),
    PORTCULLIS_LIMITS__ENABLED: 'false',
    PORTCULLIS_PASSWORDS__MAX_WAIT_SECONDS: '60',
    ...quickest,
  }
  const services: SpawnedService[] = []
  const start = () => spawnService(env, folder)
  const rotate = () => portcullis(['secret', 'rotate', '--yes', '--json'], { env, cwd: folder })
  const secrets = () =>
    readFileSync(join(folder, 'data', 'secret'), 'utf8')
      .trimEnd()
      .split('\n')
  const vaultOf = (secret: string) => providerVault(derivedKeys(secret).providerTokenKey)
  after(() => Promise.all(services.map((one) => one.end('SIGTERM'))))

  /** Restarts one process after the other, as a proxy sees it: requests go to the other one meanwhile. */
  async function restart(): Promise<void> {
    for (const at of [0, 1]) {
      const [former] = services.splice(at, 1)
      await former?.end('SIGTERM')
      services.splice(at, 0, await start())
    }
  }

  /** The status of a request to any process that runs. */
  async function statusOf(by: { bearer: string } | { cookie: string }): Promise<number> {
    for (;;) {
      const service = services[Math.floor(Math.random() * services.length)]
      const answer = await call(service?.url ?? '', 'GET', '/users/me', by).catch(() => null)
      if (answer !== null && answer.status !== 503) return answer.status
    }
  }

  it('changes under load without a refused credential, also when the command is killed', async function () {
    this.timeout(480_000) // four restarts and four commands
    services.push(...(await Promise.all([start(), start()])))
    await register(services[0]?.url ?? '', email)
    const [old = ''] = secrets()
    const store = await openStore({ kind: 'sqlite', dataFolder: join(folder, 'data') })
    const people = Array.from({ length: users }, () => {
      const user = aUser()
      const sealedAccessToken = vaultOf(old).seal('access', user.id, 'acme')
      const tokens = { sealedAccessToken, sealedRefreshToken: null, refreshingUntil: null }
      return { ...user, oauthAccounts: [anAccount({ provider: 'acme', ...tokens })] }
    })
    for (let at = 0; at < users; at += 40) {
      await Promise.all(people.slice(at, at + 40).map((user) => store.users.insert(user, [])))
    }

    const credentials: ({ bearer: string } | { cookie: string })[] = []
    const refused: unknown[] = []
    let used = 0
    let isOver = false
    const issue = async (at: number): Promise<void> => {
      const url = services[at % services.length]?.url ?? ''
      credentials.push({ bearer: await logIn(url, email) }, { cookie: await logInByCookie(url, email) })
    }
    await issue(0)
    const load = (async () => {
      for (let at = 0; !isOver; at++) {
        if (at % 50 === 0) await issue(at / 50).catch(() => undefined) // the process ends right now
        const by = credentials[Math.floor(Math.random() * credentials.length)]
        if (by === undefined) continue
        const status = await statusOf(by)
        used++
        await delay(10)
        if (status !== 200) refused.push({ status, kind: Object.keys(by), at })
      }
    })()

    /** On a busy machine the store may not answer in time. Then the command is repeated, as its user would. */
    const stepOf = async () => {
      for (;;) {
        const { code, out } = await rotate()
        if (code === 0) return JSON.parse(out)
      }
    }
    expect(await stepOf()).to.deep.include({ step: 'add' })
    await restart()
    expect(await stepOf()).to.deep.include({ step: 'makeFirst' })
    await restart()
    const [next = ''] = secrets()
    expect(secrets()).to.deep.equal([next, old])

    const killed = spawn(process.execPath, [executable, 'secret', 'rotate', '--yes'], {
      cwd: folder,
      env: { PATH: process.env.PATH, ...env },
      stdio: 'ignore',
    })
    const progress = async () => JSON.parse((await store.tenantTexts.read('secret-rotation')) ?? '{"users":0}')
    await eventually('the first page', async () => (await progress()).users > 0)
    killed.kill('SIGKILL')
    await once(killed, 'close')
    const { users: before, doneAt } = await progress()
    expect(doneAt).to.equal(null)
    expect(before).to.be.within(1, users - 1)

    const done = await stepOf()
    expect(done).to.deep.include({ step: 'reseal', users: users + 1 })
    expect(Date.parse(done.formerUntil)).to.be.within(Date.now() + 80_000_000, Date.now() + 86_400_000)
    for (const { id } of people) {
      const user = await store.users.find(id)
      const sealed = user?.oauthAccounts[0]?.sealedAccessToken ?? ''
      expect(vaultOf(next).unseal(sealed, id, 'acme')).to.equal('access')
    }
    isOver = true
    await load
    expect(refused).to.deep.equal([])
    expect(used).to.be.greaterThan(20)
    await store.close()
  })
})
