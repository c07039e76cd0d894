// A front end with the types that openapi-typescript makes from the document of a fastapi-users application.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { eventually } from '../support/eventually.ts'
import { answerOf } from '../support/http/client.ts'
import { expectDescribed, isDescribedAt } from '../support/http/described.ts'
import { portcullis } from '../support/process/command-line.ts'
import { FrontEnd } from '../support/project/front-end.ts'
import { projectFile } from '../support/project/readme-blocks.ts'
import { type Acme, startAcme } from '../support/providers/acme.ts'
import { skipIfMissing } from '../support/servers/obstacles.ts'
import { freePort } from '../support/servers/ports.ts'
import { goodSecret } from '../support/services/settings.ts'
import { type SpawnedService, scratchFolder, spawnService } from '../support/services/spawned-service.ts'
import { type RedisServer, redisServerObstacle, startRedis } from '../support/stores/redis.ts'
import { type FormerPerson, registerPeople, startFormerApp } from './former-app.ts'
import { type Accounts, program } from './front-end-program.ts'

type Send = (request: Request) => Promise<Response>
type LinkTo = (event: 'forgot' | 'verify', email: string) => Promise<string>

/** Everything that a front end has seen. Ids, tokens and the name in addresses have the same text in each visit. */
interface Visit {
  readonly answers: readonly string[]
  /** Differences between the answers and the document of the application. */
  readonly faults: readonly string[]
  /** The values that the generated client has returned. */
  readonly values: readonly unknown[]
}

const field = (type: string, more: object = {}) => ({ type, ...more })
const settings = {
  users: {
    fields: {
      first_name: field('string', { default: '' }),
      birthday: field('string', { format: 'date' }),
      role: field('string', { default: 'reader' }),
      newsletter: field('boolean', { default: false }),
      age: field('integer'),
    },
  },
  backends: {
    jwt: { transport: { kind: 'bearer' }, strategy: { kind: 'jwt' } },
    cookie: { transport: { kind: 'cookie' }, strategy: { kind: 'stored' } },
    redis: { transport: { kind: 'bearer' }, strategy: { kind: 'stored' } },
  },
  compat: { preset: 'fastapi-users', until: new Date().toISOString().slice(0, 10) },
}
const secret = 'the secret of the former application'
const password = 'a pass phrase of the front end'

for (const ids of ['uuid', 'integer'] as const) {
  describe(`a front end generated from the document of an application with ids of the kind ${ids}`, function () {
    this.timeout(300_000)
    const frontEnd = new FrontEnd()
    const former = `the application with ${ids}`
    let redis: RedisServer
    let acme: Acme
    let people: readonly FormerPerson[]
    let service: SpawnedService
    let atFormer: Visit
    let earlierToken: string

    before(async function () {
      skipIfMissing(this, redisServerObstacle())
      redis = await startRedis()
      acme = await startAcme()
      const app = {
        DATABASE: `sqlite+aiosqlite:///${join(frontEnd.folder, 'former.db')}`,
        REDIS: redis.url,
        SECRET: secret,
        ACME_SITE: acme.fake.origin,
        ...(ids === 'integer' && { IDS: ids }),
      }
      people = await registerPeople(app, 5, 5)
      earlierToken = people[2]?.tokens.jwt ?? ''
      const port = await freePort()
      const running = await startFormerApp(app, port)
      isDescribedAt(former, running.url)
      frontEnd.write('package.json', '{ "type": "module" }')
      frontEnd.write('tsconfig.json', projectFile('examples/front-end/tsconfig.json'))
      frontEnd.write('src/theirs/program.ts', program)
      frontEnd.write('src/ours/program.ts', program)
      await frontEnd.makeTypes(`openapi-typescript@7 ${running.url}/openapi.json --output src/theirs/accounts.d.ts`)
      atFormer = await visit(running.url, 'ada', running.link)
      await running.stop()

      const env = {
        PORTCULLIS_SECRET: goodSecret,
        PORTCULLIS_COMPAT__JWT_SECRET: secret,
        PORTCULLIS_HANDLERS__CONSOLE: 'true',
        PORTCULLIS_LIMITS__ENABLED: 'false',
        ...acme.env({ BACKEND: 'jwt' }),
      }
      const folder = scratchFolder()
      writeFileSync(join(folder, 'portcullis.config.json'), JSON.stringify({ ids, ...settings }))
      const args = ['--from', app.DATABASE, '--lifetime', '86400', '--yes', '--json']
      const imported = await portcullis(['import', 'fastapi-users', ...args], { cwd: folder, env })
      expect(imported.code, imported.err).to.equal(0)
      service = await spawnService({ ...env, PORTCULLIS_HTTP__PORT: String(port) }, folder)
      expect(service.url).to.equal(running.url)
      await frontEnd.makeTypes(`openapi-typescript@7 ${service.url}/openapi.json --output src/ours/accounts.d.ts`)
    })
    after(async () => {
      await service?.end('SIGTERM')
      await acme?.close()
      await redis?.close()
    })

    async function accountsAt(url: string, send: Send): Promise<Accounts> {
      const { accountsAt } = await import(join(frontEnd.folder, 'src/theirs/program.ts'))
      return accountsAt(url, send)
    }

    /** A journey through every operation, of a new user in the main. */
    async function visit(url: string, name: string, linkTo: LinkTo): Promise<Visit> {
      const seen = recorder(url, name, former)
      const accounts = await accountsAt(url, seen.send)
      const email = `${name}@example.com`
      const values: unknown[] = []
      const note = (value: unknown): void => void values.push(seen.masked(value))
      const failure = (error: Error): string => error.message

      const { id } = await accounts.register(email, password)
      note(typeof id)
      note(await accounts.register(email, password).catch(failure))
      note(await accounts.register('no address', password).catch(failure))
      note(await accounts.registerBriefly(`${name}.brief@example.com`, password))
      note(await accounts.logIn(email, 'another pass phrase').catch(failure))
      const token = await accounts.logIn(email, password)
      note(await accounts.me(token))
      note(await accounts.me('no token'))
      note(await accounts.change(token, { first_name: 'Grace', birthday: null, age: 37 }))
      note(await accounts.change(token, { email: people[0]?.email }))
      await accounts.askToVerify(email)
      note(await accounts.verify(await linkTo('verify', email)))
      note(await accounts.verify('no token'))
      await accounts.forgot(email)
      note(await accounts.reset(await linkTo('forgot', email), `${password} of now`))
      note(await accounts.reset('no token', password))
      const later = await accounts.logIn(email, `${password} of now`)
      note(await accounts.inCookies(email, `${password} of now`))

      const linked = people[4]
      const back = acme.approve(await accounts.authorize(), {
        id: 'acme-5',
        email: linked?.email,
        email_verified: true,
      })
      const signedIn = await accounts.me(await accounts.comeBack(back))
      note((signedIn as { readonly email: string }).email) // safe: as the types say
      const strange = acme.approve(await accounts.authorize(), { id: 'acme-5', email: linked?.email })
      note(await accounts.comeBack({ ...strange, state: 'no state' }))
      const other = acme.approve(await accounts.link(later), { id: `of ${name}`, email, email_verified: true })
      note(typeof (await accounts.linkBack(later, other)))

      const superuser = await accounts.logIn(people[0]?.email ?? '', people[0]?.password ?? '')
      const { id: doomed } = await accounts.register(`${name}.doomed@example.com`, password)
      note(await accounts.manage(superuser, doomed))
      note(await accounts.manage(later, doomed))
      await accounts.logOut(later)
      return { answers: seen.answers, faults: seen.faults, values }
    }

    it('compiles, also with types from our document', async () => {
      expect(await frontEnd.compile()).to.equal('')
    })

    it('runs unchanged: it gets the same answers as from the application', async () => {
      const names = { forgot: 'on_after_forgot_password', verify: 'on_after_request_verify' }
      const visited = await visit(service.url, 'eve', async (event, email) => {
        const found = await eventually('the link', () =>
          service.events.findLast((one) => one.event === names[event] && one.user.email === email),
        )
        return found.token ?? ''
      })
      expect(visited.values).to.deep.equal(atFormer.values)
      expect(visited.answers).to.deep.equal(atFormer.answers)
      expect(visited.faults).to.deep.equal(atFormer.faults)
    })

    it('goes on with the JWT that it has kept', async () => {
      const accounts = await accountsAt(service.url, fetch)
      expect(await accounts.me(earlierToken)).to.include({ email: people[2]?.email })
    })
  })
}

/** A `fetch` with cookies, which keeps all answers and compares them with the document of the application. */
function recorder(url: string, name: string, document: string) {
  const cookies = new Map<string, string>()
  const answers: string[] = []
  const faults: string[] = []
  const masked = (value: unknown): string =>
    inOrder(value)
      .replaceAll(name, 'NAME')
      .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'ID')
      .replace(/(\/users\/|"id":)\d+/g, '$1ID')
      .replace(/("access_token":)"[\w.-]+"/, '$1"TOKEN"')
      .replace(/("authorization_url":"[^?]+)[^"]*/, '$1')

  async function send(request: Request): Promise<Response> {
    const headers = new Headers(request.headers)
    headers.set('Origin', url)
    headers.set('Cookie', [...cookies].map((pair) => pair.join('=')).join('; '))
    const response = await fetch(new Request(request, { headers, redirect: 'manual' }))
    for (const line of response.headers.getSetCookie()) {
      const [, cookie = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (/Max-Age=0/i.test(line)) cookies.delete(cookie)
      else cookies.set(cookie, value)
    }
    const { pathname } = new URL(request.url)
    const text = await response.clone().text()
    const described = new Headers({ 'Content-Type': 'application/json; charset=utf-8' })
    const answer = answerOf(response.status, described, text)
    answers.push(`${request.method} ${masked(pathname)} ${response.status} ${masked(answer.body)}`)
    await expectDescribed(document, request.method, pathname, answer).catch((error: Error) =>
      faults.push(error.message.replace(/ in \{.*/, '')),
    )
    return response
  }
  return { send, masked, answers, faults }
}

/** As JSON, with the members of objects in the order of their names, and without two that only one side has. */
function inOrder(value: unknown): string {
  return JSON.stringify(value, (name, one) => {
    if (name === 'input' || name === 'oauth_accounts') return undefined
    const isObject = typeof one === 'object' && one !== null && !Array.isArray(one)
    return isObject ? Object.fromEntries(Object.entries(one).sort()) : one
  })
}
