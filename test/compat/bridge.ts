import { writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { toEmail } from '../../src/adapters/addresses/parse-email.ts'
import { portsFor } from '../../src/adapters/stores/store-backend.ts'
import { openRole } from '../../src/cli/open-role.ts'
import { openHasher, openHashPool } from '../../src/config/composition/shared-resources.ts'
import { loadSettings } from '../../src/config/settings/load.ts'
import type { UserId } from '../../src/domain/ids.ts'
import { newUser } from '../../src/domain/user.ts'
import { anEvent } from '../../src/testing/builders.ts'
import { eventually } from '../support/eventually.ts'
import { quickest } from '../support/scenes/quickest.ts'
import { listen } from '../support/servers/ports.ts'
import { startTestService, type TestService } from '../support/services/service.ts'
import { scratchFolder } from '../support/services/spawned-service.ts'

interface Person {
  readonly id: string
  readonly email: string
  readonly password: string
  readonly is_active: boolean
  readonly is_superuser: boolean
  readonly is_verified: boolean
}

interface Case {
  readonly requiresVerification: boolean
  readonly redirects: boolean
  readonly people: readonly Person[]
}

/** The rule of the test app of fastapi-users, and objections that a case wants. */
const handlers = `export function validate_password(password) {
  if (password.endsWith(' is too short')) return 'Password should be at least 3 characters'
  return / is refused: (.*)/.exec(password)?.[1]
}
`

export interface Bridge {
  readonly url: string
  close(): Promise<void>
}

/** Starts a new service, with the users of fastapi-users' tests, for each case. */
export async function startBridge(): Promise<Bridge> {
  const folder = scratchFolder()
  const module = join(folder, 'handlers.mjs')
  await writeFile(module, handlers)
  let service: TestService | null = null
  const hashes = new Map<string, Promise<string>>()
  const users = async (env: Readonly<Record<string, string>>, dataFolder: string) => {
    const options = { cwd: dataFolder, env: { ...env, PORTCULLIS_DATA_FOLDER: dataFolder }, withoutSecret: true }
    const { settings } = await loadSettings(options)
    const store = await openRole('users', { id: 'default', pathPrefix: '', settings })
    return { settings, store, users: portsFor('users', 'the store', store).users }
  }

  async function deploy({ requiresVerification, redirects, people }: Case) {
    await service?.stop()
    const env = settingsOf(requiresVerification, redirects, module)
    service = await startTestService(env)
    const { settings, store, users: port } = await users(env, service.dataFolder)
    const stored: Record<string, string> = {}
    for (const one of people) {
      const known =
        hashes.get(one.password) ?? openHasher(settings, openHashPool(settings.passwords)).hash(one.password)
      hashes.set(one.password, known)
      const hash = await known
      stored[one.id] = hash
      const user = {
        ...newUser(one.id as UserId, toEmail(one.email), hash, new Date()), // safe: a UUID
        isActive: one.is_active,
        isSuperuser: one.is_superuser,
        isVerified: one.is_verified,
      }
      await port.insert(user, [anEvent(user)])
    }
    await store.close()
    return { url: service.url, hashes: stored }
  }

  async function answer(request: IncomingMessage): Promise<unknown> {
    const url = new URL(request.url ?? '', 'http://bridge')
    const query = url.searchParams
    if (url.pathname === '/deploy') return deploy((await json(request)) as Case)
    if (service === null) throw new Error('no service')
    const { events, dataFolder } = service
    if (url.pathname === '/event') {
      return eventually('the event', () =>
        events.findLast((one) => one.event === query.get('event') && one.user.id === query.get('id')),
      )
    }
    const { store, users: port } = await users({}, dataFolder)
    const user = await port.find(query.get('id') as UserId) // safe: a UUID
    await store.close()
    return user?.passwordHash ?? null
  }

  const server = createServer((request, response) => {
    answer(request).then(
      (body) => response.end(JSON.stringify(body)),
      (fault) => response.writeHead(500).end(String(fault?.stack)),
    )
  })
  const url = `http://localhost:${await listen(server)}`
  return {
    url,
    async close() {
      server.close()
      server.closeAllConnections()
      await service?.stop()
    },
  }
}

function settingsOf(requiresVerification: boolean, redirects: boolean, module: string): Record<string, string> {
  const needed = String(requiresVerification)
  const backend = (name: string, prefix: string, needed: string) => ({
    [`PORTCULLIS_BACKENDS__${name}__PREFIX`]: prefix,
    [`PORTCULLIS_BACKENDS__${name}__TRANSPORT__KIND`]: 'bearer',
    [`PORTCULLIS_BACKENDS__${name}__STRATEGY__KIND`]: 'jwt',
    [`PORTCULLIS_BACKENDS__${name}__REQUIRES_VERIFICATION`]: needed,
    [`PORTCULLIS_BACKENDS__${name}__LOGOUT_REQUIRES_VERIFICATION`]: needed,
  })
  const provider = {
    KIND: 'oauth2',
    CLIENT_ID: 'client',
    CLIENT_SECRET: 'secret',
    AUTHORIZE_URL: 'http://localhost:1/authorize',
    TOKEN_URL: 'http://localhost:1/token',
    PROFILE_URL: 'http://localhost:1/profile',
    SCOPES: 'scope1,scope2',
    PREFIX: '/oauth',
    ASSOCIATE_PREFIX: '/oauth-associate',
    BACKEND: 'mock',
    ...(redirects && {
      REDIRECT_URL: 'http://localhost:1/callback',
      REDIRECT_URL_ASSOCIATE: 'http://localhost:1/callback',
    }),
  }
  return {
    ...quickest,
    PORTCULLIS_LIMITS__ENABLED: 'false',
    PORTCULLIS_COMPAT__PRESET: 'fastapi-users',
    PORTCULLIS_PASSWORDS__REFUSES_COMMON: 'false',
    PORTCULLIS_HANDLERS__MODULE: module,
    PORTCULLIS_HANDLERS__CONSOLE: 'true',
    PORTCULLIS_BACKENDS__JWT__ENABLED: 'false',
    PORTCULLIS_BACKENDS__COOKIE__ENABLED: 'false',
    ...backend('MOCK', '/mock', needed),
    ...backend('MOCKBIS', '/mock-bis', needed),
    ...backend('BRIDGE', '/bridge', 'false'),
    PORTCULLIS_ROUTERS__USERS__REQUIRES_VERIFICATION: needed,
    ...Object.fromEntries(
      Object.entries(provider).map(([key, value]) => [`PORTCULLIS_PROVIDERS__SERVICE1__${key}`, value]),
    ),
  }
}
