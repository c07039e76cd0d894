import { expect } from 'chai'
import { toEmail } from '../../src/adapters/addresses/parse-email.ts'
import { openPortcullis } from '../../src/config/runtime/embedded.ts'
import { Unavailable } from '../../src/domain/refusal.ts'
import { goodPassword } from '../support/client.ts'
import { scratchFolder } from '../support/spawned-service.ts'

const one = { email: toEmail('ada@example.com'), password: goodPassword, requestId: 'a-request' }

/** What a call that fails throws; fails when it does not. */
const thrownBy = (action: Promise<unknown>): Promise<unknown> =>
  action.then(
    () => expect.fail('it succeeded'),
    (thrown: unknown) => thrown,
  )

describe('Portcullis that has been closed', () => {
  for (const kind of ['memory', 'sqlite']) {
    it(`rejects whatever it is asked for as unavailable, on ${kind}`, async () => {
      const portcullis = await openPortcullis(
        { logs: { level: 'silent' }, stores: { users: { kind } } },
        { cwd: scratchFolder() },
      )
      const { accounts } = portcullis
      const user = await accounts.registerUser.execute(one)
      const [backend] = accounts.backends.values()
      if (backend === undefined) throw new Error('there is no backend')
      const value = await accounts.logIn.execute({ ...one, backend })
      await portcullis.close()

      expect(await thrownBy(portcullis.withTenant('default', async () => 1))).to.be.instanceOf(Unavailable)
      expect(await thrownBy(portcullis.withTenant('nobody', async () => 1))).to.be.instanceOf(RangeError)
      const asked: (() => Promise<unknown>)[] = [
        () => accounts.registerUser.execute({ ...one, email: toEmail('bob@example.com') }),
        () => accounts.promoteUser.execute(one),
        () => accounts.readUser.execute(user.id),
        () => accounts.logIn.execute({ ...one, backend }),
        () => accounts.authenticate.execute([{ backend, value }]),
        () => accounts.requestToken.execute({ ...one, purpose: 'reset_password' }),
      ]
      for (const ask of asked) expect(await thrownBy(ask()), `${ask}`).to.be.instanceOf(Unavailable)
    })
  }
})
