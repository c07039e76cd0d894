import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { toEmail } from '../../../src/adapters/addresses/parse-email.ts'
import { answering } from '../../../src/adapters/stores/answering.ts'
import { memoryBackend } from '../../../src/adapters/stores/memory/memory.ts'
import { type OwnStore, ownBackend } from '../../../src/adapters/stores/own-store.ts'
import { openShares } from '../../../src/adapters/stores/store-backend.ts'
import { openPortcullis } from '../../../src/config/runtime/embedded.ts'
import { loadSettings } from '../../../src/config/settings/load.ts'
import { Unavailable } from '../../../src/domain/refusal.ts'
import { faultOf } from '../../support/fault-of.ts'
import { goodPassword } from '../../support/http/client.ts'
import { scratchFolder } from '../../support/services/spawned-service.ts'
import { openedStores } from '../../support/stores/opened-stores.ts'

const folder = scratchFolder()
const clock = (): Date => new Date()
const ada = { email: toEmail('ada@example.com'), password: goodPassword, requestId: 'test' }

function moduleOf(text: string): string {
  const path = join(folder, `store-${Math.random()}.mjs`)
  writeFileSync(path, text)
  return path
}

const sessionsIn = (module: string) => ({
  PORTCULLIS_STORES__SESSIONS__KIND: 'module',
  PORTCULLIS_STORES__SESSIONS__MODULE: module,
})

const methods = ['put', 'find', 'recordUse', 'remove', 'listOf', 'removeAllOf', 'sweep']
const sessionsText = `{ ${methods.map((name) => `async ${name}() {}`).join(', ')} }`

describe('a module of a store of one’s own', () => {
  for (const [title, text, message] of [
    ['does not load', 'nonsense nonsense', 'PATH cannot be loaded: Unexpected identifier'],
    ['has no default export', 'export const store = {}', 'PATH has no default export: export the store, or a function'],
    ['exports a text', 'export default "sessions"', 'PATH is not an object of ports'],
    ['opens nothing', 'export default () => undefined', 'PATH is not an object of ports'],
    ['offers no port', 'export default { session: {} }', 'PATH has none of the ports users, outbox, '],
    ['throws', 'export default () => { throw new Error("no key") }', 'PATH does not open: no key'],
    [
      'lacks a method',
      `export default { sessions: { ...${sessionsText}, listOf: 1, sweep: undefined } }`,
      'PATH: its port sessions has no method listOf, sweep',
    ],
    [
      'lacks a port of its role',
      'export default { limiter: { add() {}, clear() {} } }',
      'PATH cannot store sessions: it has no sessions; choose another store with stores.sessions.kind',
    ],
    [
      'cannot be prepared',
      `export default { sessions: ${sessionsText}, prepare: () => Promise.reject(new Error('no table')) }`,
      'PATH cannot be prepared: no table',
    ],
  ] as const) {
    it(`is a fault of its setting if it ${title}`, async () => {
      const path = moduleOf(text)
      const fault = String(await faultOf(openedStores(sessionsIn(path))))
      expect(fault).to.include(`stores.sessions: ${message.replace('PATH', path)}`)
    })
  }

  it('is a fault of the settings if it is missing, or needed and not given', async () => {
    const faults = async (env: Readonly<Record<string, string>>) =>
      String(await faultOf(loadSettings({ cwd: folder, env })))
    expect(await faults(sessionsIn('gone.mjs'))).to.include(
      `stores.sessions.module: there is no file ${join(folder, 'gone.mjs')}`,
    )
    expect(await faults({ PORTCULLIS_STORES__USERS__KIND: 'module' })).to.include('stores.users.module: is required')
    expect(await faults({ PORTCULLIS_STORES__USERS__MODULE: 'x' })).to.include(
      'must not be given: sqlite has no module',
    )
  })

  it('is opened once for all roles of a tenant, and again only after it was closed', async () => {
    const path = moduleOf(`let opened = 0, prepared = 0
      export default ({ tenant, url }) => ({
        sessions: { ...${sessionsText}, find: async () => [++opened, tenant, url] },
        limiter: { async add() {}, clear: async () => prepared },
        async prepare() { if (tenant === 'acme' && ++prepared === 1) throw new Error('not yet') },
        singleUseRecords: { async put() {}, async take() {}, async sweep() {} },
        tokens: { async put() {}, async find() {}, async current() {}, async remove() {}, async removeAllOf() {}, async sweep() {} },
      })`)
    const stores = await openedStores({
      ...sessionsIn(path),
      PORTCULLIS_STORES__SESSIONS__URL: 'pg://host',
      PORTCULLIS_STORES__TOKENS__KIND: 'module',
      PORTCULLIS_STORES__TOKENS__MODULE: path,
    })
    expect(await stores.sessions.find('')).to.deep.equal([1, 'default', 'pg://host'])
    expect(await stores.failing()).to.deep.equal([])
    await stores.close()
    const shares = openShares()
    const open = () => ownBackend.open({ module: path, tenant: 'acme', dataFolder: folder, clock, warn() {}, shares })
    const handles = [await open(), await open()]
    await faultOf(handles[0]?.prepare() ?? expect.fail())
    for (const handle of handles) await handle.prepare()
    expect(await handles[0]?.limiter?.clear(''), 'prepared until it succeeded').to.equal(2)
    expect(handles[0]?.sessions, 'a reload, which opens before it closes').to.equal(handles[1]?.sessions)
    await Promise.all(handles.map((handle) => handle.close()))
    const again = await open()
    expect(again.sessions).not.to.equal(handles[0]?.sessions)
    await again.close()
  })
})

describe('the preparation of a store of one’s own', () => {
  it('is unavailable after a deadline, and runs once at a time', async () => {
    let calls = 0
    const { promise, resolve } = Promise.withResolvers<void>()
    const prepare = answering('it hangs', () => (calls++ === 0 ? promise : Promise.resolve()), 10)
    for (let attempt = 0; attempt < 2; attempt++) {
      const fault = await faultOf(prepare())
      expect(fault).to.be.instanceOf(Unavailable).with.property('message', 'it hangs')
    }
    resolve()
    await prepare()
    expect(calls).to.equal(1)
  })

  it('may be tried again while it is unavailable, as that of a built-in store', async () => {
    let isDown = true
    const own: OwnStore = {
      ...(await memoryBackend.open({ clock, warn() {} })),
      prepare: async () => {
        if (isDown) throw new Unavailable('the database')
      },
    }
    const handle = await ownBackend.open({ module: own, dataFolder: folder, clock, warn() {} })
    expect(await faultOf(handle.prepare())).to.be.instanceOf(Unavailable)
    isDown = false
    await handle.prepare()
  })
})

describe('a program with a store of its own', () => {
  /** The ports of a new memory store, each as an object of a class with a private field. */
  async function ofClasses(): Promise<OwnStore> {
    const { prepare, ping, close, ...ports } = await memoryBackend.open({ clock, warn() {} })
    return Object.fromEntries(Object.entries(ports).map(([name, port]) => [name, ofClass(port)]))
  }

  const settings = { dataFolder: join(folder, 'data'), logs: { level: 'silent' } } as const

  it('keeps every role in it, whatever the settings name', async () => {
    const store = await ofClasses()
    const stores = { users: store, sessions: store, tokens: store }
    const portcullis = await openPortcullis({ ...settings, stores: { users: { kind: 'sqlite' } } }, { stores })
    const { id } = await portcullis.accounts.registerUser.execute(ada)
    expect((await store.users?.find(id))?.email).to.equal('ada@example.com')
    await portcullis.close()
  })

  it('keeps one role in it, and the others in the stores of the settings', async () => {
    let isClosed = false
    const close = async (): Promise<void> => {
      isClosed = true
    }
    const store = { ...(await ofClasses()), close }
    const portcullis = await openPortcullis(settings, { stores: { users: () => store } })
    await portcullis.accounts.registerUser.execute(ada)
    expect((await store.users?.list(2, null))?.items).to.have.length(1)
    await portcullis.close()
    expect(isClosed).to.equal(true)
  })

  it('hears of a missing port, of a name that is no role, and of an object for several tenants', async () => {
    const { outbox, tenantTexts, ...rest } = await ofClasses()
    expect(String(await faultOf(openPortcullis(settings, { stores: { users: rest } })))).to.include(
      'stores.users: the store of the program cannot store users: it has no outbox, no tenantTexts',
    )
    const misnamed: object = { user: rest }
    expect(String(await faultOf(openPortcullis(settings, { stores: misnamed })))).to.include(
      'stores.user: no such role: users, sessions, tokens',
    )
    const tenants = { by: 'header', list: { acme: {} } }
    const portcullis = await openPortcullis({ ...settings, tenants }, { stores: { users: await ofClasses() } })
    const fault = await faultOf(portcullis.withTenant('acme', async () => undefined))
    expect(fault).to.be.instanceOf(Unavailable)
    expect(String((fault as Error).cause)).to.include('must be a function that opens the store of one tenant')
    await portcullis.close()
  })
})

/** An object of a class whose methods are on its prototype and work on it alone. */
function ofClass<T extends object>(port: T): T {
  class Port {
    readonly #port = port
    static {
      for (const [name, method] of Object.entries(port)) {
        Object.defineProperty(Port.prototype, name, {
          value(this: Port, ...input: unknown[]) {
            return method.apply(this.#port, input)
          },
        })
      }
    }
  }
  return new Port() as T
}
