import { readdir } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import {
  type Handlers,
  openPortcullis,
  type Portcullis,
  type PortcullisOptions,
  type PortcullisSettings,
  toEmail,
} from '../src/index.ts'
import { anAddress } from './support/answers.ts'
import { call, goodPassword, register } from './support/client.ts'
import { eventually } from './support/eventually.ts'
import { startTestService } from './support/service.ts'
import { scratchFolder } from './support/spawned-service.ts'

const silent = { logs: { level: 'silent' } } satisfies PortcullisSettings

describe('events of a program', () => {
  async function registered(portcullis: Portcullis): Promise<string> {
    const email = toEmail(anAddress())
    await portcullis.accounts.registerUser.execute({ email, password: goodPassword, requestId: 'a-program' })
    return email
  }

  /** Whom a program with these options is told of that opens what others have left behind. */
  async function toldAfter(settings: PortcullisSettings, options: PortcullisOptions): Promise<string[]> {
    const dataFolder = scratchFolder()
    const told: string[] = []
    const first = await openPortcullis({ ...silent, ...settings, dataFolder }, options)
    await registered(first)
    await delay(300)
    await first.close()
    const handlers = { on_after_register: ({ email }: { email: string }) => void told.push(email) }
    const second = await openPortcullis({ ...silent, dataFolder }, { handlers })
    const last = await registered(second)
    await eventually('the last event', () => told.includes(last))
    await second.close()
    return told.filter((email) => email !== last)
  }

  it('wait for somebody who has handlers, where it has none', async () => {
    const told = await Promise.all([
      toldAfter({}, {}),
      toldAfter({}, { delivers: false }),
      toldAfter({ events: { relay: 'off' } }, { handlers: {} }),
    ])
    expect(told.map(({ length }) => length)).to.deep.equal([1, 1, 1])
  })

  it('are printed where it prints itself, when it asks for that', async () => {
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
      const email = await registered(portcullis)
      await eventually('the line', () => lines.some((line) => line.includes(email)))
      await portcullis.close()
    } finally {
      process.stdout.write = write
    }
  })

  it('are delivered to nobody, where it says that nobody is to be told', async () => {
    const told = await Promise.all([toldAfter({}, { handlers: {} }), toldAfter({}, { delivers: true })])
    expect(told).to.deep.equal([[], []])
  })

  it('of one tenant wait, whomever another one tells', async () => {
    const dataFolder = scratchFolder()
    const list = { here: { stores: { users: { kind: 'memory' } } }, kept: {} } as const
    const tenants = { by: 'header', list } as const
    const first = await openPortcullis({ ...silent, dataFolder, tenants })
    for (const tenant of ['here', 'kept']) {
      await first.withTenant(tenant, ({ registerUser }) =>
        registerUser.execute({ email: toEmail('ada@example.com'), password: goodPassword, requestId: 'a-program' }),
      )
    }
    await delay(300)
    await first.close()
    const told: string[] = []
    const handlers: Handlers = { on_after_register: (_user, { tenant }) => void told.push(tenant) }
    const second = await openPortcullis({ ...silent, dataFolder, tenants }, { handlers })
    await eventually('the event', () => told.length > 0)
    await second.close()
    expect(told).to.deep.equal(['kept'])
  })

  it('of a service beside it are left to the service, where it has no handlers', async () => {
    const service = await startTestService()
    const program = await openPortcullis({ ...silent, dataFolder: service.dataFolder })
    const emails = Array.from({ length: 8 }, () => anAddress())
    for (const email of emails) await register(service.url, email)
    for (const email of emails) {
      await call(service.url, 'POST', '/auth/forgot-password', { json: { email } })
      await delay(100) // or one look of the service's takes all
    }
    const missing = () => {
      const told = (event: string) =>
        new Set(service.events.filter((one) => one.event === event).map(({ user }) => user.email))
      const [registrations, resets] = [told('on_after_register'), told('on_after_forgot_password')]
      return emails.filter((email) => !registrations.has(email) || !resets.has(email))
    }
    await eventually('an event of each', () => missing().length === 0)
    await program.close()
    await service.stop()
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
          const value = await logIn.execute({ email, password: goodPassword, backend, requestId: 'a-program' })
          return authenticate.execute([{ backend, value }])
        })
        return Promise.all(presented)
      })
      await portcullis.close()
      expect(by.map((found) => found?.user.email)).to.deep.equal([email, email])
      expect(await readdir(cwd)).to.deep.equal([])
    })
  }
})
