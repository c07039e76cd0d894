import { createServer } from 'node:http'
import { join } from 'node:path'
import Koa from 'koa'
import { toEmail } from '../../../src/adapters/addresses/parse-email.ts'
// Not by src/index.ts, which imports it late: with sources loaded on the fly that would be another copy of everything.
import { openPortcullis, type Portcullis, type PortcullisOptions } from '../../../src/config/runtime/embedded.ts'
import { type KoaAccounts, koaAccounts } from '../../../src/koa.ts'
import { call, goodPassword, logIn, register } from '../http/client.ts'
import { forgetDocument } from '../http/described.ts'
import { listen } from '../servers/ports.ts'
import { scratchFolder } from './spawned-service.ts'

export interface KoaApp {
  readonly url: string
  readonly dataFolder: string
  readonly portcullis: Portcullis
  readonly accounts: KoaAccounts
  /** The errors that the app has got as its own. */
  readonly faults: readonly Error[]
  stop(): Promise<void>
}

interface Options extends PortcullisOptions {
  readonly settings?: Readonly<Record<string, unknown>>
  /** Of a service, or of another app, that has the same users. */
  readonly dataFolder?: string
  /** Adds the middleware of the app. */
  readonly compose: (app: Koa, accounts: KoaAccounts) => void
}

/** A Koa app with accounts, on a free port. */
export async function startKoaApp({ settings = {}, dataFolder, compose, ...options }: Options): Promise<KoaApp> {
  const scratch = scratchFolder()
  const folder = dataFolder ?? join(scratch, 'data')
  const server = createServer()
  const url = `http://localhost:${await listen(server)}`
  forgetDocument(url)

  const portcullis = await openPortcullis(
    {
      dataFolder: folder,
      http: { publicUrl: url },
      logs: { level: 'silent' },
      passwords: { maxWaitSeconds: 60 },
      ...settings,
    },
    { cwd: scratch, ...options },
  )
  const accounts = koaAccounts(portcullis)
  const app = new Koa()
  const faults: Error[] = []
  app.on('error', (fault: Error) => faults.push(fault))
  compose(app, accounts)
  server.on('request', app.callback())

  return {
    url,
    dataFolder: folder,
    portcullis,
    accounts,
    faults,
    async stop() {
      server.close()
      server.closeAllConnections()
      await portcullis.close()
    },
  }
}

/** Somebody with an account, and how they present themselves. */
export interface Person {
  readonly id: string
  readonly email: string
  readonly bearer: string
}

/** Registers a user for each of the rights that guards tell apart. */
export async function somebodyOfEachKind({
  portcullis,
  url,
}: KoaApp): Promise<Record<'plain' | 'verified' | 'superuser', Person>> {
  const input = { email: toEmail('root@example.com'), password: goodPassword, requestId: 'of-a-test' }
  const root = await portcullis.accounts.createSuperuser.execute(input)
  const superuser = { id: root.id, email: root.email, bearer: await logIn(url, root.email) }
  const join = async (email: string): Promise<Person> => {
    const { id } = await register(url, email)
    return { id, email, bearer: await logIn(url, email) }
  }
  const verified = await join('verified@example.com')
  const json = { is_verified: true }
  const { status } = await call(url, 'PATCH', `/users/${verified.id}`, { bearer: superuser.bearer, json })
  if (status !== 200) throw new Error(`PATCH answered ${status}`)
  return { plain: await join('plain@example.com'), verified, superuser }
}
