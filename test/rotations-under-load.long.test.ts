// Signing keys and the secret change under load, and no credential that was issued before, between or after is refused.
import { expect } from 'chai'
import { decodeProtectedHeader } from 'jose'
import { Unavailable } from '../src/domain/refusal.ts'
import { openPortcullis, type Portcullis, type UserId } from '../src/index.ts'
import { eventually } from './support/eventually.ts'
import { cachingVerifier } from './support/http/caching-verifier.ts'
import { type Answer, call, goodPassword, type Sent, untilAvailable } from './support/http/client.ts'
import { figure } from './support/http/figures.ts'
import { each } from './support/http/sender.ts'
import { portcullis } from './support/process/command-line.ts'
import { type Acme, aPerson, startAcme } from './support/providers/acme.ts'
import { Browser, prefixOf, toLogIn } from './support/providers/oauth-browser.ts'
import { enrol } from './support/scenes/enrol.ts'
import { quickest } from './support/scenes/quickest.ts'
import { needsDeployment, onPostgres } from './support/services/deployments.ts'
import { goodSecret } from './support/services/settings.ts'
import { type SpawnedService, scratchFolder, spawnService } from './support/services/spawned-service.ts'

const cacheSeconds = 2
const wanted = Number(process.env.TEST_CREDENTIALS ?? 10_000)
const kinds = ['jwt', 'jwt by HMAC', 'cookie', 'device', 'reset', 'verification', 'journey', 'provider token'] as const
type Kind = (typeof kinds)[number]
const perKind = Math.ceil(wanted / kinds.length)
const workers = 8
/** The oldest credential of a kind is used when so many wait. So most of them outlive a step. */
const mostWaiting = Math.ceil(perKind / 8)

interface Asked extends Answer {
  readonly isRepeated: boolean
}

/** A process of the service, and a program beside it that reads the tokens of providers. */
interface Node {
  readonly service: SpawnedService
  readonly program: Portcullis
  running: number
}

interface Held {
  readonly kind: Kind
  /** The number of steps before it was issued. */
  readonly step: number
  /** Returns what was wrong, or `null`. */
  use(): Promise<unknown>
}

describe('signing keys and the secret of two processes', () => {
  const folder = scratchFolder()
  const next = `next ${goodSecret}`
  let acme: Acme
  let stores: Readonly<Record<string, string>>
  let common: Readonly<Record<string, string>>
  /** With the secrets of now. */
  let env: Readonly<Record<string, string>>
  const nodes: Node[] = []
  const tokens = new Map<string, string>()
  const known = Array.from({ length: 4 }, (_, at) => `known-${at}@example.com`)
  const addresses = { reset: [] as string[], verification: [] as string[] }

  before(async function () {
    await needsDeployment(this, onPostgres)
    acme = await startAcme()
    stores = await onPostgres.settings()
    common = {
      ...stores,
      ...acme.env(),
      ...quickest,
      PORTCULLIS_BACKENDS__JWT__STRATEGY__ALGORITHM: 'EdDSA',
      PORTCULLIS_BACKENDS__HMAC__STRATEGY__KIND: 'jwt',
      PORTCULLIS_BACKENDS__HMAC__TRANSPORT__KIND: 'bearer',
      PORTCULLIS_KEYS__CACHE_SECONDS: String(cacheSeconds),
      PORTCULLIS_HTTP__PUBLIC_URL: 'http://localhost:4000',
      PORTCULLIS_HANDLERS__CONSOLE: 'true',
      PORTCULLIS_PASSWORDS__MAX_WAIT_SECONDS: '60',
      // More than callers at once, as a right password counts until it is verified.
      PORTCULLIS_LIMITS__PASSWORDS_PER_ACCOUNT: String(3 * workers),
      PORTCULLIS_LIMITS__PASSWORDS_PER_DEVICE: String(3 * workers),
    }
    env = { ...common, ...secrets(goodSecret) }
  })
  after(async () => {
    await Promise.all(nodes.map(close))
    await acme?.close()
    if (stores !== undefined) await onPostgres.remove(stores)
  })

  const secrets = (first: string, ...former: string[]) => ({
    PORTCULLIS_SECRET: first,
    ...(former.length > 0 && { PORTCULLIS_FORMER_SECRETS: former.join() }),
  })
  async function start(): Promise<Node> {
    const [service, program] = await Promise.all([
      spawnService(env, folder),
      openPortcullis({ logs: { level: 'silent' } }, { env, cwd: folder, delivers: false }),
    ])
    return { service, program, running: 0 }
  }
  async function close({ service, program }: Node): Promise<void> {
    await Promise.all([service.end('SIGTERM'), program.close()])
    note(service)
  }

  /** Does `work` at any process that takes requests, as a proxy chooses one. */
  async function atAny<T>(work: (node: Node) => Promise<T>): Promise<T> {
    const node = nodes[Math.floor(Math.random() * nodes.length)]
    if (node === undefined) throw new Error('there is no process')
    node.running++
    try {
      return await work(node)
    } finally {
      node.running--
    }
  }
  /** Repeats a request that an overloaded service has answered with 503. */
  async function persistently(send: (service: SpawnedService) => Promise<Answer>): Promise<Asked> {
    let tries = 0
    const answer = await untilAvailable(() => {
      tries++
      return atAny(({ service }) => send(service))
    })
    return { ...answer, isRepeated: tries > 1 }
  }
  const ask = (method: string, path: string, sent: Sent = {}): Promise<Asked> =>
    persistently(({ url }) => call(url, method, path, sent))

  /** Restarts one process after the other, each without requests, with these secrets. */
  async function restart(given: Readonly<Record<string, string>>, between: () => Promise<unknown>): Promise<void> {
    env = { ...common, ...given }
    for (const at of [0, 1]) {
      const [former] = nodes.splice(0, 1)
      if (former === undefined) throw new Error('there is no process')
      await eventually('the last request', () => former.running === 0)
      await close(former)
      nodes.push(await start())
      if (at === 0) await between()
    }
  }

  const heard = new Map<SpawnedService, number>()
  function note(service: SpawnedService): void {
    for (const { event, user, token } of service.events.slice(heard.get(service) ?? 0)) {
      if (token !== undefined) tokens.set(`${event} ${user.email}`, token)
    }
    heard.set(service, service.events.length)
  }
  const mailed = (event: string, email: string): Promise<string> =>
    eventually(
      `${event} for ${email}`,
      () => {
        for (const { service } of nodes) note(service)
        return tokens.get(`${event} ${email}`)
      },
      300,
    )

  /** Returns `null` for an answer with this status. */
  const unless = (status: number, answer: Answer) => (answer.status === status ? null : [answer.status, answer.text])
  /** As `unless`. An attempt that was answered with 503 may have used up what works once. */
  let unclear = 0
  const unlessUsedUp = (status: number, answer: Asked) => {
    if (answer.status === status || !answer.isRepeated) return unless(status, answer)
    unclear++
    return null
  }
  const logIn = (backend: string, username: string, cookie?: string) => {
    const form = { username, password: goodPassword }
    return ask('POST', `/auth/${backend}/login`, { form, ...(cookie !== undefined && { cookie }) })
  }
  const cookieIn = ({ headers }: Answer, name: RegExp): string => {
    const found = headers.getSetCookie().find((line) => name.test(line))
    if (found === undefined) throw new Error('the answer has no such cookie')
    return found.split(';')[0] ?? ''
  }
  const deviceIn = (answer: Answer) => cookieIn(answer, /^(__Host-)?device=/)
  const tokenIn = (answer: Answer): string => {
    if (answer.status !== 200) throw new Error(`a login answered ${answer.status} ${answer.text}`)
    return (answer.body as { access_token: string }).access_token // safe: 200 carries a token
  }

  it(`change under load, and none of ${wanted} credentials is refused`, async function () {
    this.timeout(3_600_000)
    await enrol(env, folder, ['ada@example.com', ...known])
    for (const kind of ['reset', 'verification'] as const) {
      addresses[kind] = Array.from({ length: perKind + workers }, (_, at) => `${kind}-${at}@example.com`)
      await enrol(env, folder, addresses[kind])
    }
    nodes.push(await start(), await start())
    const verify = cachingVerifier(cacheSeconds, (path) =>
      untilAvailable(() => atAny(({ service }) => fetch(`${service.url}${path}`))),
    )
    const devices = new Map<string, string>()
    for (const email of known) {
      devices.set(email, deviceIn(await logIn('jwt', email)))
      const form = { username: email, password: 'wrong' }
      const guess = () => ask('POST', '/auth/jwt/login', { form })
      await eventually('the limit of strangers', async () => (await guess()).status === 429)
    }

    const kids = new Set<string | undefined>()
    let issued = 0
    let step = 0
    const refused: unknown[] = []
    const figures = Object.fromEntries(kinds.map((kind) => [kind, { issued: 0, uses: 0, outlived: 0 }]))
    const held = Object.fromEntries(kinds.map((kind) => [kind, [] as Held[]]))
    const used = Object.fromEntries(kinds.map((kind) => [kind, [] as Held[]]))
    const isOnce = (kind: Kind) => kind === 'reset' || kind === 'verification' || kind === 'journey'
    const of = <T>(all: Readonly<Record<string, T>>, kind: Kind): T => {
      const found = all[kind]
      if (found === undefined) throw new Error(kind)
      return found
    }

    function hold(kind: Kind, use: Held['use']): void {
      of(held, kind).push({ kind, step, use })
      of(figures, kind).issued++
      issued++
    }
    async function spend(one: Held): Promise<void> {
      const wrong = await one.use().catch((thrown: unknown) => String(thrown))
      of(figures, one.kind).uses++
      if (one.step < step) of(figures, one.kind).outlived++
      if (wrong !== null) refused.push({ kind: one.kind, issuedAt: one.step, usedAt: step, wrong })
      if (!isOnce(one.kind)) of(used, one.kind).push(one)
    }

    const issue: Readonly<Record<Exclude<Kind, 'provider token'>, () => Promise<void>>> = {
      async jwt() {
        const bearer = tokenIn(await logIn('jwt', 'ada@example.com'))
        kids.add(decodeProtectedHeader(bearer).kid)
        hold('jwt', async () => {
          await verify(bearer)
          return unless(200, await ask('GET', '/users/me', { bearer }))
        })
      },
      async 'jwt by HMAC'() {
        const bearer = tokenIn(await logIn('hmac', 'ada@example.com'))
        expect(decodeProtectedHeader(bearer).alg).to.equal('HS256')
        hold('jwt by HMAC', async () => unless(200, await ask('GET', '/users/me', { bearer })))
      },
      async cookie() {
        const cookie = cookieIn(await logIn('cookie', 'ada@example.com'), /session=/)
        hold('cookie', async () => unless(200, await ask('GET', '/users/me', { cookie })))
      },
      async device() {
        const email = known[issued % known.length] ?? ''
        // Without the cookie of a device, this account answers 429.
        const device = deviceIn(await logIn('jwt', email, devices.get(email)))
        devices.set(email, device)
        hold('device', async () => unless(200, await logIn('jwt', email, device)))
      },
      async reset() {
        const email = addresses.reset.pop() ?? ''
        await ask('POST', '/auth/forgot-password', { json: { email } })
        const token = await mailed('on_after_forgot_password', email)
        const json = { token, password: goodPassword }
        hold('reset', async () => unlessUsedUp(200, await ask('POST', '/auth/reset-password', { json })))
      },
      async verification() {
        const email = addresses.verification.pop() ?? ''
        await ask('POST', '/auth/request-verify-token', { json: { email } })
        const token = await mailed('on_after_request_verify', email)
        hold('verification', async () => unlessUsedUp(200, await ask('POST', '/auth/verify', { json: { token } })))
      },
      async journey() {
        const person = aPerson()
        let { jar } = new Browser('')
        const asked = await persistently(({ url }) => {
          const browser = new Browser(url)
          jar = browser.jar
          return browser.get(`${prefixOf(acme, toLogIn)}/authorize`)
        })
        const { authorization_url: address } = asked.body as { authorization_url: string } // safe: 200 carries an address
        const back = acme.approve(address, person)
        hold('journey', async () => {
          const answer = await persistently(({ url }) => {
            const browser = new Browser(url)
            for (const [name, value] of jar) browser.jar.set(name, value)
            return browser.comeBack(acme, back)
          })
          if (answer.status !== 200) return unlessUsedUp(200, answer)
          const { body } = await ask('GET', '/users/me', { bearer: tokenIn(answer) })
          const { id } = body as { id: UserId } // safe: 200 carries a User
          const token = await providerToken(id, person.id)
          if (token === null || !acme.tokens.includes(token)) return 'no token of the provider'
          hold('provider token', async () => ((await providerToken(id, person.id)) === token ? null : 'another token'))
          return null
        })
      },
    }
    async function providerToken(userId: UserId, accountId: string): Promise<string | null> {
      for (;;) {
        try {
          return await atAny(async ({ program: { accounts } }) => {
            const provider = accounts.providers.get(acme.name)
            if (provider === undefined) throw new Error('there is no provider')
            return await accounts.readProviderToken.execute({ userId, provider, accountId })
          })
        } catch (thrown) {
          if (!(thrown instanceof Unavailable)) throw thrown // on a busy machine, the store may answer too late
        }
      }
    }

    let isOver = false
    const issuable = Object.keys(issue) as (keyof typeof issue)[]
    const lacks = () => issuable.filter((kind) => of(figures, kind).issued < perKind)
    const load = async (): Promise<void> => {
      for (let at = 0; !isOver || lacks().length > 0; at++) {
        const open = lacks()
        await issue[open[at % open.length] ?? 'jwt']()
        for (const one of kinds) {
          const all = of(held, one)
          const oldest = all.length > mostWaiting ? all.shift() : undefined
          if (oldest !== undefined) await spend(oldest)
        }
      }
    }

    const began = performance.now()
    const steps = 6
    /** Waits until the load has issued its share, and begins the next step. */
    const begin = async (): Promise<void> => {
      const enough = (wanted * (step + 1)) / (steps + 1)
      await eventually('more credentials', () => issued >= enough, 1800)
      figure('a step', { issued, refused: refused.length, seconds: (performance.now() - began) / 1000 })
      step++
    }
    const run = async (...args: string[]) => {
      for (;;) {
        const { code, out } = await portcullis(args, { env, cwd: folder })
        if (code === 0) return JSON.parse(out.split('\n')[0] ?? '')
      }
    }
    const rotateKeys = async (): Promise<void> => {
      const { kid, state } = await run('keys', 'rotate', '--json')
      expect(state).to.equal('next')
      await eventually('the new key signs', () => kids.has(kid), 600)
    }
    const few = () => {
      const enough = issued + 50
      return eventually('more credentials', () => issued >= enough, 600)
    }
    const change = async (): Promise<void> => {
      await begin()
      await rotateKeys()
      await begin()
      await restart(secrets(goodSecret, next), few)
      await begin()
      await restart(secrets(next, goodSecret), rotateKeys)
      await begin()
      const [done] = await Promise.all([run('secret', 'rotate', '--yes', '--json'), rotateKeys()])
      expect(done).to.deep.include({ step: 'reseal' })
      expect(done.resealed).to.be.greaterThan(0)
      await begin()
      await restart(secrets(next, goodSecret), few)
      await begin()
      isOver = true
    }
    await Promise.all([change(), ...Array.from({ length: workers }, load)])
    const spendAll = (all: readonly Held[]) => each(all.length, workers, (at) => spend(all[at] as Held)) // safe: at < length
    for (const kind of kinds) await spendAll(of(held, kind).splice(0))
    for (const kind of kinds) await spendAll(of(used, kind).slice(0, mostWaiting)) // the oldest ones
    for (const username of known) expect((await logIn('jwt', username)).status, 'a stranger').to.equal(429)

    // Nothing that is stored needs the former secret now.
    step++
    await restart(secrets(next), async () => undefined)
    await spendAll([...new Set(of(used, 'provider token'))])
    for (const kind of ['jwt', 'cookie'] as const) await spendAll(of(used, kind).slice(0, mostWaiting))

    for (const kind of kinds) figure(kind, of(figures, kind))
    figure('the run', { issued, refused: refused.length, unclear, seconds: (performance.now() - began) / 1000 })
    expect(refused).to.deep.equal([])

    expect(issued).to.be.at.least(wanted)
    expect(unclear).to.be.below(wanted / 100)
    for (const kind of kinds) expect(of(figures, kind).outlived, kind).to.be.greaterThan(perKind / 10)
    expect(kids.size).to.equal(4)
  })
})
