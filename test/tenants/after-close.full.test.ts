import Database from 'better-sqlite3'
import { expect } from 'chai'
import { toEmail } from '../../src/adapters/addresses/parse-email.ts'
import { openPortcullis } from '../../src/config/runtime/embedded.ts'
import { Unavailable } from '../../src/domain/refusal.ts'
import type { PortcullisSettings } from '../../src/index.ts'
import { eventually } from '../support/eventually.ts'
import { faultOf } from '../support/fault-of.ts'
import { goodPassword } from '../support/http/client.ts'
import { granted } from '../support/scenes/logins.ts'
import { scratchFolder } from '../support/services/spawned-service.ts'
import { sqlitePath } from '../support/stores/store-contents.ts'

const ada = { email: toEmail('ada@example.com'), password: goodPassword, requestId: 'a-request' }
const silent = { logs: { level: 'silent' } } as const

describe('Portcullis that has been closed', () => {
  it('rejects every call as unavailable', async () => {
    for (const kind of ['sqlite', 'memory'] as const) await expectRejections({ stores: { users: { kind } }, ...silent })
  })

  async function expectRejections(settings: PortcullisSettings): Promise<void> {
    const portcullis = await openPortcullis(settings, { cwd: scratchFolder() })
    const { accounts } = portcullis
    const user = await accounts.registerUser.execute(ada)
    const [backend] = accounts.backends.values()
    if (backend === undefined) throw new Error('there is no backend')
    const { value } = granted(await accounts.logIn.execute({ ...ada, backend })).issued
    await portcullis.close()

    const calls: (() => Promise<unknown>)[] = [
      () => portcullis.withTenant('default', async () => 1),
      () => accounts.registerUser.execute({ ...ada, email: toEmail('bob@example.com') }),
      () => accounts.readUser.execute(user.id),
      () => accounts.logIn.execute({ ...ada, backend }),
      () => accounts.authenticate.execute([{ backend, value }]),
      () => accounts.requestToken.execute({ ...ada, purpose: 'reset_password' }),
    ]
    for (const one of calls) expect(await faultOf(one()), `${one}`).to.be.instanceOf(Unavailable)
  }
})

describe('Portcullis on a store of another secret, which did not answer at the start', () => {
  it('rejects calls as unavailable, before and after it compares the secret', async () => {
    const settings = { ...silent, dataFolder: scratchFolder() }
    const first = await openPortcullis({ ...settings, secret: 'a'.repeat(40) })
    await first.accounts.registerUser.execute(ada)
    await first.close()
    const db = new Database(sqlitePath(settings.dataFolder))
    db.exec('BEGIN IMMEDIATE')
    const faults: unknown[] = []
    const failed = (fault: unknown) => void faults.push(fault)
    const { accounts, close } = await openPortcullis({ ...settings, secret: 'b'.repeat(40) }, { failed })
    const registering = () => faultOf(accounts.registerUser.execute({ ...ada, email: toEmail('bob@example.com') }))
    expect(await registering()).to.be.instanceOf(Unavailable)
    db.exec('COMMIT')
    db.close()
    await eventually('the comparison of the secret', () => faults.length > 0)
    expect(await registering()).to.be.instanceOf(Unavailable)
    await close()
  })
})
