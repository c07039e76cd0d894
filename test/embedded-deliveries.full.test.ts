import { readdir } from 'node:fs/promises'
import { expect } from 'chai'
import {
  type Handlers,
  openPortcullis,
  type Portcullis,
  type PortcullisOptions,
  type PortcullisSettings,
  toEmail,
} from '../src/index.ts'
import { eventually } from './support/eventually.ts'
import { anAddress } from './support/http/answers.ts'
import { goodPassword } from './support/http/client.ts'
import { granted } from './support/scenes/logins.ts'
import { resetToken } from './support/scenes/one-time-tokens.ts'
import { startTestService } from './support/services/service.ts'
import { scratchFolder } from './support/services/spawned-service.ts'
import { inSqlite } from './support/stores/store-contents.ts'

const silent = { logs: { level: 'silent' } } satisfies PortcullisSettings

describe('events of a program', () => {
  async function register(portcullis: Portcullis, tenant = 'default'): Promise<string> {
    const email = toEmail(anAddress())
    await portcullis.withTenant(tenant, ({ registerUser }) =>
      registerUser.execute({ email, password: goodPassword, requestId: 'a-program' }),
    )
    return email
  }

  /** Registers users with a program that leaves their events to the next one on the same store, which has handlers. */
  async function expectLeft(settings: PortcullisSettings, options: PortcullisOptions = {}, tenant = 'default') {
    const dataFolder = scratchFolder()
    const first = await openPortcullis({ ...silent, ...settings, dataFolder }, options)
    const emails: string[] = []
    for (let count = 0; count < 4; count++) emails.push(await register(first, tenant))
    await first.close()
    const told: string[] = []
    const handlers: Handlers = { on_after_register: ({ email }) => void told.push(email) }
    const delivering = { ...silent, ...settings, events: { relay: 'on' }, dataFolder } as const
    const second = await openPortcullis(delivering, { handlers })
    await eventually('every event', () => emails.every((email) => told.includes(email)))
    await second.close()
  }

  it('wait for a program with handlers if this program has none', async () => {
    await expectLeft({})
    await expectLeft({}, { delivers: false })
    await expectLeft({ events: { relay: 'off' } }, { handlers: {} })
  })

  it('of one tenant are not delivered by a program for another tenant', async () => {
    const list = { here: { stores: { users: { kind: 'memory' } } }, kept: {} } as const
    await expectLeft({ tenants: { by: 'header', list } }, {}, 'kept')
  })

  it('wait for a service on the same store if the program has no handlers', async () => {
    const service = await startTestService()
    const program = await openPortcullis({ ...silent, dataFolder: service.dataFolder })
    for (let count = 0; count < 4; count++) {
      const email = await register(program)
      await service.event(({ event, user }) => event === 'on_after_register' && user.email === email)
      await resetToken(service, email)
    }
    await program.close()
    await service.stop()
  })

  it('are discarded with the option `handlers: {}`', async () => {
    for (const options of [{ handlers: {} }, { delivers: true }]) {
      const dataFolder = scratchFolder()
      const portcullis = await openPortcullis({ ...silent, dataFolder }, options)
      await register(portcullis)
      const waiting = () => inSqlite(dataFolder, (db) => db.prepare('SELECT count(*) FROM outbox').pluck().get())
      await eventually('no event to wait', () => waiting() === 0)
      await portcullis.close()
    }
  })

  it('are printed on standard output with handlers.console', async () => {
    const { write } = process.stdout
    const lines: string[] = []
    process.stdout.write = ((line: string, done: () => void) => {
      lines.push(line)
      done()
      return true
    }) as typeof write // safe: of its forms this one is called
    try {
      const settings = { ...silent, handlers: { console: true }, stores: { users: { kind: 'memory' } } } as const
      const portcullis = await openPortcullis({ ...settings, dataFolder: scratchFolder() })
      const email = await register(portcullis)
      await eventually('the line', () => lines.some((line) => line.includes(email)))
      await portcullis.close()
    } finally {
      process.stdout.write = write
    }
  })
})

describe('a program with stores in memory', () => {
  const memory = { ...silent, stores: { users: { kind: 'memory' } } } as const

  for (const [title, settings, tenant] of [
    ['the only tenant', memory, 'default'],
    ['several tenants', { ...memory, tenants: { by: 'header', list: { acme: {} } } }, 'acme'],
  ] as const) {
    it(`writes no file for ${title}, and issues credentials that it accepts`, async () => {
      const cwd = scratchFolder()
      const portcullis = await openPortcullis(settings, { cwd })
      const email = toEmail(anAddress())
      const by = await portcullis.withTenant(tenant, async ({ registerUser, logIn, authenticate, backends }) => {
        await registerUser.execute({ email, password: goodPassword, requestId: 'a-program' })
        const presented = [...backends.values()].map(async (backend) => {
          const { issued } = granted(
            await logIn.execute({ email, password: goodPassword, backend, requestId: 'a-program' }),
          )
          return authenticate.execute([{ backend, value: issued.value }])
        })
        return Promise.all(presented)
      })
      await portcullis.close()
      expect(by.map((found) => found?.user.email)).to.deep.equal([email, email])
      expect(await readdir(cwd)).to.deep.equal([])
    })
  }
})
