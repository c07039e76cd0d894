// Every act on a user leaves the events that docs/administration.md lists, with its actor, by each door.
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { toEmail } from '../src/adapters/addresses/parse-email.ts'
import { openPortcullis } from '../src/config/runtime/embedded.ts'
import { parseUserId } from '../src/domain/ids.ts'
import type { User } from '../src/domain/user.ts'
import { eventually } from './support/eventually.ts'
import { anAddress } from './support/http/answers.ts'
import { call, goodPassword, logIn, logInByCookie, register } from './support/http/client.ts'
import { portcullis } from './support/process/command-line.ts'
import { projectFile } from './support/project/readme-blocks.ts'
import { enrol } from './support/scenes/enrol.ts'
import { enrolFactor } from './support/scenes/factors.ts'
import { startTestService, type TestService } from './support/services/service.ts'
import { scratchFolder } from './support/services/spawned-service.ts'

type Program = Awaited<ReturnType<typeof openPortcullis>>

interface Person {
  readonly id: string
  readonly email: string
}

/** The call of a handler. */
interface Got {
  readonly event: string
  readonly email: string
  readonly by: string
  readonly changes: readonly string[]
}

interface Doors {
  /** A request of a superuser, in the console by cookie. */
  readonly send: (method: string, path: string, json?: object) => Promise<number>
  readonly command: (...words: readonly string[]) => Promise<number | null>
}

interface Act {
  readonly person:
    | 'nobody'
    | 'invited'
    | 'active'
    | 'verified'
    | 'inactive'
    | 'with a factor'
    | 'with a reset'
    | 'superuser'
  readonly route: (doors: Doors, person: Person) => Promise<number>
  readonly command: (doors: Doors, person: Person) => Promise<number | null>
  readonly program: (program: Program, target: User, email: string) => Promise<unknown>
}

const movedFrom = (email: string) => `moved.${email}`
const by = { type: 'program' } as const
const requestId = 'request-of-a-test'
const change = (changes: object): Pick<Act, 'program'> => ({
  program: ({ accounts }, target) => accounts.changeAccount.execute({ by, target, changes, requestId }),
})
const patch = (json: object): Pick<Act, 'route'> => ({
  route: ({ send }, { id }) => send('PATCH', `/users/${id}`, json),
})
const user = (...words: readonly string[]): Pick<Act, 'command'> => ({
  command: ({ command }, { email }) => command('user', ...words, email),
})

const acts: Readonly<Record<string, Act>> = {
  create: {
    person: 'nobody',
    route: ({ send }, { email }) => send('POST', '/users', { email, password: goodPassword, is_verified: true }),
    command: ({ command }, { email }) => command('user', 'create', email, '--password-stdin', '--verified'),
    program: ({ admin }, _, email) =>
      admin.createUser.execute({ by, email: toEmail(email), password: goodPassword, isVerified: true, requestId }),
  },
  invite: {
    person: 'invited',
    route: ({ send }, { id }) => send('POST', `/users/${id}/invite`),
    ...user('invite'),
    program: ({ admin }, target) => admin.inviteUser.execute({ by, target, requestId }),
  },
  verify: { person: 'active', ...patch({ is_verified: true }), ...user('verify'), ...change({ isVerified: true }) },
  deactivate: { person: 'active', ...patch({ is_active: false }), ...user('disable'), ...change({ isActive: false }) },
  activate: { person: 'inactive', ...patch({ is_active: true }), ...user('enable'), ...change({ isActive: true }) },
  'change the address': {
    person: 'active',
    route: ({ send }, { id, email }) => send('PATCH', `/users/${id}`, { email: movedFrom(email) }),
    command: ({ command }, { email }) => command('user', 'set-email', email, movedFrom(email)),
    program: ({ accounts }, target, email) =>
      accounts.changeAccount.execute({ by, target, changes: { email: toEmail(movedFrom(email)) }, requestId }),
  },
  'end all logins': {
    person: 'active',
    route: ({ send }, { id }) => send('DELETE', `/users/${id}/sessions`),
    ...user('end-sessions'),
    program: ({ accounts }, target) => accounts.logOutEverywhere.execute({ by, target, requestId }),
  },
  'start a reset of the factors': {
    person: 'with a factor',
    route: ({ send }, { id }) => send('POST', `/users/${id}/factors/reset`),
    command: ({ command }, { email }) => command('user', 'factors', 'reset', email, '--yes'),
    program: ({ admin }, target) => admin.resetFactors.execute({ by, target, requestId }),
  },
  'stop a reset of the factors': {
    person: 'with a reset',
    route: ({ send }, { id }) => send('DELETE', `/users/${id}/factors/reset`),
    command: ({ command }, { email }) => command('user', 'factors', 'keep', email),
    program: ({ admin }, target) => admin.keepFactors.execute({ by, target, requestId }),
  },
  promote: {
    person: 'verified',
    ...patch({ is_superuser: true }),
    command: ({ command }, { email }) => command('superuser', 'create', '--promote', '--email', email),
    ...change({ isSuperuser: true }),
  },
  demote: {
    person: 'superuser',
    ...patch({ is_superuser: false }),
    command: ({ command }, { email }) => command('superuser', 'demote', email),
    ...change({ isSuperuser: false }),
  },
  delete: {
    person: 'active',
    route: ({ send }, { id }) => send('DELETE', `/users/${id}`),
    command: ({ command }, { email }) => command('user', 'delete', email, '--yes'),
    program: ({ accounts }, target) => accounts.deleteUser.execute({ by, target, requestId }),
  },
}

/** The rows of the page: the names in brackets are the changes that the event names. */
function documented(): Readonly<Record<string, readonly (readonly [string, ...string[]])[]>> {
  const [, section = ''] = projectFile('docs/administration.md').split('## Acts and their events')
  const [table = ''] = section.split('\n## ')
  const rows = [...table.matchAll(/^\| ([a-z ]+) \| (`.*) \|$/gm)]
  return Object.fromEntries(
    rows.map(([, act = '', events = '']) => [
      act,
      [...events.matchAll(/`(on_\w+)`(?: \(([^)]+)\))?/g)].map(
        ([, event = '', changed = '']) => [event, ...(changed.match(/\w+/g) ?? [])] as const,
      ),
    ]),
  )
}

const exports = [
  'on_after_register',
  'on_after_update',
  'on_after_invite',
  'on_after_verify',
  'on_after_request_verify',
  'on_after_delete',
  'on_factor_reset_started',
  'on_after_reset_password',
]

describe('an act on a user', () => {
  const folder = scratchFolder()
  const log = join(folder, 'events.log')
  const module = join(folder, 'handlers.mjs')
  const env = {
    PORTCULLIS_HANDLERS__MODULE: module,
    PORTCULLIS_ROUTERS__FACTORS__ENABLED: 'true',
    PORTCULLIS_PAGES__ENABLED: 'true',
    PORTCULLIS_ADMIN__ENABLED: 'true',
    PORTCULLIS_LIMITS__ENABLED: 'false',
  }
  let service: TestService
  let program: Program
  let root: string

  before(async () => {
    const line = (name: string) =>
      `export const ${name} = (user, ...rest) => { const { by } = rest.at(-1); appendFileSync(${JSON.stringify(log)}, JSON.stringify({ event: '${name}', email: user.email, by: by?.type, changes: '${name}' === 'on_after_update' ? Object.keys(rest[0]) : [] }) + '\\n') }`
    writeFileSync(module, ["import { appendFileSync } from 'node:fs'", ...exports.map(line)].join('\n'))
    appendFileSync(log, '')
    service = await startTestService(env)
    root = anAddress('root')
    await enrol(env, service.dataFolder, [root], { isSuperuser: true })
    const settings = { dataFolder: service.dataFolder, routers: { factors: { enabled: true } }, mail: { url: 'off' } }
    program = await openPortcullis(settings, { env: {}, delivers: false })
  })
  after(async () => {
    await program?.close()
    await service?.stop()
  })

  const eventsOf = (email: string): readonly Got[] =>
    (existsSync(log) ? readFileSync(log, 'utf8') : '')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Got)
      .filter((got) => [email, movedFrom(email)].includes(got.email))

  /** Gives time to what should not be there: an event that is written now is delivered. */
  async function settled(): Promise<void> {
    const { email } = await register(service.url, anAddress('settled'))
    await eventually('the last event', () => eventsOf(email).length > 0)
  }

  async function personFor(kind: Act['person']): Promise<Person> {
    const email = anAddress()
    if (kind === 'nobody') return { id: '', email }
    if (kind === 'invited' || kind === 'superuser' || kind === 'verified') {
      const proved = { isVerified: true, isOwnerProved: true }
      const fields = { invited: { passwordHash: null }, superuser: { isSuperuser: true }, verified: proved }[kind]
      const [made] = await enrol(env, service.dataFolder, [email], fields)
      return { id: made?.id ?? '', email }
    }
    const { id } = await register(service.url, email)
    if (kind === 'with a factor' || kind === 'with a reset') await enrolFactor(service.url, email, () => new Date())
    const bearer = await logIn(service.url, root)
    if (kind === 'inactive') await call(service.url, 'PATCH', `/users/${id}`, { bearer, json: { is_active: false } })
    if (kind === 'with a reset') await call(service.url, 'POST', `/users/${id}/factors/reset`, { bearer })
    return { id, email }
  }

  async function doorsFor(isConsole: boolean): Promise<Doors> {
    const sent = isConsole
      ? { cookie: await logInByCookie(service.url, root) }
      : { bearer: await logIn(service.url, root) }
    const headers = isConsole ? { Origin: service.url } : {}
    return {
      send: async (method, path, json) =>
        (await call(service.url, method, path, { ...sent, headers, ...(json && { json }) })).status,
      command: async (...words) => {
        const input = `${goodPassword}\n`
        const options = {
          cwd: folder,
          env: { ...env, PORTCULLIS_DATA_FOLDER: service.dataFolder, PORTCULLIS_MAIL__URL: 'off' },
          input,
        }
        const { code } = await portcullis(words, options)
        return code
      },
    }
  }

  it('is in the list of the documents, with its events', () => {
    expect(Object.keys(documented())).to.deep.equal(Object.keys(acts))
  })

  for (const [name, act] of Object.entries(acts)) {
    it(`leaves its events with their actor, by route, console, command and program: ${name}`, async () => {
      const wanted = documented()[name] ?? []
      for (const door of ['route', 'console', 'command', 'program'] as const) {
        const person = await personFor(act.person)
        await settled()
        const before = eventsOf(person.email).length
        const doors = await doorsFor(door === 'console')
        if (door === 'program') {
          const id = parseUserId(person.id)
          const target = id === null ? null : await program.accounts.readUser.execute(id)
          await act.program(program, target as User, person.email) // safe: only `create` has no target
        } else if (door === 'command') expect(await act.command(doors, person), `${name} by a command`).to.equal(0)
        else expect(await act.route(doors, person), `${name} by ${door}`).to.be.within(200, 204)
        await eventually(`${name} by ${door}`, () => eventsOf(person.email).length - before >= wanted.length)
        await settled()
        const actor = { route: 'superuser', console: 'superuser', command: 'command', program: 'program' }[door]
        const got = eventsOf(person.email).slice(before)
        expect(
          got.map(({ event, changes }) => [event, ...changes]),
          `${name} by ${door}`,
        ).to.deep.equal(wanted)
        for (const one of got) expect(one.by, `${name} by ${door}`).to.equal(actor)
      }
    })
  }
})
