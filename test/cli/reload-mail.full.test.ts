import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { eventually } from '../support/eventually.ts'
import { call, goodPassword, logInByCookie, register } from '../support/http/client.ts'
import { portcullis } from '../support/process/command-line.ts'
import { type SmtpStandIn, startSmtp } from '../support/servers/smtp.ts'
import {
  type Spawned,
  type SpawnedService,
  scratchFolder,
  spawnService,
  spawnWorker,
} from '../support/services/spawned-service.ts'

const app = 'https://app.example.com'
const acme = { kind: 'github', backend: 'cookie', clientId: 'portcullis', clientSecret: 'a secret of acme' }
/** The settings come from the file only. */
const fromFile = { PORTCULLIS_MAIL__URL: '' }

describe('SIGHUP without tenants, with new mail, limits and origins', () => {
  const open: (() => Promise<unknown>)[] = []
  let cwd: string
  beforeEach(() => {
    cwd = scratchFolder()
  })
  afterEach(async () => {
    for (const close of open.splice(0).reverse()) await close()
  })

  const settle = (settings: object) => writeFile(join(cwd, 'portcullis.config.json'), JSON.stringify(settings))

  async function smtp(behaviour: Parameters<typeof startSmtp>[0] = {}): Promise<SmtpStandIn> {
    const server = await startSmtp(behaviour)
    open.push(() => server.kill())
    return server
  }

  async function service(env: Readonly<Record<string, string>> = {}): Promise<SpawnedService> {
    const spawned = await spawnService({ ...fromFile, ...env }, cwd)
    open.push(() => spawned.end('SIGTERM'))
    return spawned
  }

  /** Sends the signal and waits for a line with this message. Returns the settings that it names. */
  async function hangUp({ pid, errors }: Spawned, message = 'reloaded the settings'): Promise<readonly string[]> {
    const lines = () => errors.filter((line) => line.includes(message))
    const before = lines().length
    process.kill(pid, 'SIGHUP')
    await eventually(message, () => lines().length > before)
    return JSON.parse(lines().at(-1) ?? '').settings
  }

  const mailAt = ({ port }: SmtpStandIn, from: string) => ({ url: `smtp://127.0.0.1:${port}`, from })

  it('sends later messages by the new settings, and a message on its way once', async () => {
    const { promise: answered, resolve: answer } = Promise.withResolvers<null>()
    let asked = 0
    const former = await smtp({
      onMessage() {
        asked++
        return answered
      },
    })
    const next = await smtp()
    await settle({ mail: mailAt(former, 'Old <old@example.com>') })
    const running = await service()
    await register(running.url, 'ada@example.com')
    await eventually('a message on its way', () => asked > 0)

    await settle({ mail: mailAt(next, 'New <new@example.com>') })
    expect(await hangUp(running)).to.have.members(['mail.url', 'mail.from'])
    await register(running.url, 'grace@example.com')
    const { parsed } = await next.mail(({ to }) => to[0] === 'grace@example.com')
    expect(parsed.from).to.include({ name: 'New', address: 'new@example.com' })

    answer(null)
    const waiting = async () => (await portcullis(['events', 'list'], { cwd })).out
    await eventually('no event to wait', async () => (await waiting()) === '')
    expect([asked, former.received.length]).to.deep.equal([1, 1])
    expect(next.received.map(({ to }) => to)).to.deep.equal([['grace@example.com']])
    expect(running.errors.filter((line) => line.includes('delivery failed'))).to.deep.equal([])
  })

  it('ends while a message of the former settings hangs', async () => {
    let asked = 0
    const former = await smtp({
      onMessage() {
        asked++
        return new Promise(() => {})
      },
    })
    await settle({ mail: mailAt(former, 'old@example.com') })
    const running = await spawnService(fromFile, cwd)
    await register(running.url, 'ada@example.com')
    await eventually('a message on its way', () => asked > 0)
    await settle({ mail: { url: 'off' } })
    await hangUp(running)
    expect(await running.end('SIGTERM')).to.equal(0)
    expect(running.errors.some((line) => line.includes('the process did not stop in time'))).to.equal(false)
  })

  it('makes a worker send by the new settings', async () => {
    const [former, next] = [await smtp(), await smtp()]
    await settle({ mail: mailAt(former, 'old@example.com') })
    const running = await service({ PORTCULLIS_EVENTS__RELAY: 'off' })
    const worker = await spawnWorker(fromFile, cwd)
    open.push(() => worker.end('SIGTERM'))
    await register(running.url, 'ada@example.com')
    await former.mail(({ to }) => to[0] === 'ada@example.com')
    await settle({ mail: mailAt(next, 'new@example.com') })
    await hangUp(worker)
    await register(running.url, 'grace@example.com')
    await next.mail(({ to }) => to[0] === 'grace@example.com')
  })

  it('applies limits and the origins of return_to, and keeps records in memory', async () => {
    const limits = { passwordsBeforePauses: 20, passwordsPerAccount: 50 }
    const common = { stores: { users: { kind: 'memory' } }, providers: { acme }, mail: { url: 'mailbox:' } }
    await settle({ ...common, limits })
    const running = await service()
    const { email } = await register(running.url, 'ada@example.com')
    const cookie = await logInByCookie(running.url, email)
    const guess = async () => {
      const form = { username: email, password: 'wrong' }
      return (await call(running.url, 'POST', '/auth/jwt/login', { form })).status
    }
    const keepsWay = async () => {
      const query = new URLSearchParams({ return_to: `${app}/start` })
      const { headers, body } = await call(running.url, 'GET', `/auth/acme/authorize?${query}`)
      const { authorization_url: address } = body as { authorization_url: string } // safe: as described, or `call` throws
      const state = new URL(address).searchParams.get('state')
      const [journey = ''] = headers.getSetCookie()[0]?.split(';') ?? []
      const end = `/auth/acme/callback?error=access_denied&state=${state}`
      const ended = await call(running.url, 'GET', end, { cookie: journey })
      return ended.headers.get('Location')?.includes('return_to=') ?? false
    }
    const mailbox = running.errors.join('\n').match(/http:\S+mailbox\?key=\S+/)?.[0] ?? ''
    const isKept = async () => (await (await fetch(mailbox)).text()).includes('Verify your address')
    expect([await guess(), await guess(), await keepsWay()]).to.deep.equal([400, 400, false])
    await eventually('a message', isKept)

    await settle({ ...common, limits: { ...limits, passwordsPerAccount: 3 }, http: { allowedOrigins: [app] } })
    expect(await hangUp(running)).to.have.members(['limits.passwordsPerAccount', 'http.allowedOrigins'])
    expect([await guess(), await guess(), await keepsWay()]).to.deep.equal([400, 429, true])
    expect((await call(running.url, 'GET', '/users/me', { cookie })).status).to.equal(200)
    expect(await isKept()).to.equal(true)

    await settle({ ...common, limits: { enabled: false } })
    await hangUp(running)
    expect([await guess(), await keepsWay()]).to.deep.equal([400, false])
    const form = { username: email, password: goodPassword }
    expect((await call(running.url, 'POST', '/auth/jwt/login', { form })).status).to.equal(200)
  })

  it('changes nothing when a template has a fault', async () => {
    const server = await smtp()
    const mail = mailAt(server, 'accounts@example.com')
    await settle({ mail })
    const running = await service()
    await mkdir(join(cwd, 'templates', 'en'), { recursive: true })
    await writeFile(join(cwd, 'templates', 'en', 'verify.txt'), 'Subject: Hello\n\n{{lnik}}\n')
    await settle({ mail: { ...mail, templates: 'templates' } })
    await hangUp(running, 'the settings cannot be read: nothing was reloaded')
    expect(running.errors.at(-1)).to.include('verify.txt:3')
    await register(running.url, 'ada@example.com')
    await server.mail(({ to }) => to[0] === 'ada@example.com')
  })
})
