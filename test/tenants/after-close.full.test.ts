import { expect } from 'chai'
import { toEmail } from '../../src/adapters/addresses/parse-email.ts'
import { openPortcullis } from '../../src/config/runtime/embedded.ts'
import { Unavailable } from '../../src/domain/refusal.ts'
import { goodPassword } from '../support/client.ts'
import { faultOf } from '../support/fault-of.ts'
import { scratchFolder } from '../support/spawned-service.ts'

const ada = { email: toEmail('ada@example.com'), password: goodPassword, requestId: 'a-request' }

describe('Portcullis that has been closed', () => {
  it('rejects every call as unavailable', async () => {
    const portcullis = await openPortcullis({ logs: { level: 'silent' } }, { cwd: scratchFolder() })
    const { accounts } = portcullis
    const user = await accounts.registerUser.execute(ada)
    const [backend] = accounts.backends.values()
    if (backend === undefined) throw new Error('there is no backend')
    const value = await accounts.logIn.execute({ ...ada, backend })
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
  })
})
