import { expect } from 'chai'
import { derivedKeys } from '../../../src/adapters/crypto/derived-keys.ts'
import { useCasesOf } from '../../../src/config/composition/container.ts'
import { portsOf } from '../../../src/config/composition/ports.ts'
import type { Email } from '../../../src/domain/email.ts'
import { quickHasher } from '../../../src/testing/quick-hasher.ts'
import { recording } from '../../support/scenes/delivery.ts'
import { password } from '../../support/scenes/hashes.ts'
import { goodSecret, settingsFolder } from '../../support/services/settings.ts'
import { openedStores } from '../../support/stores/opened-stores.ts'

describe('the use cases of a tenant', () => {
  const folder = settingsFolder()
  let stores: Awaited<ReturnType<typeof openedStores>>

  before(async () => {
    stores = await openedStores({})
  })

  after(() => stores.close())

  it('wake the relay after each write of events, and after no other', async () => {
    let woken = 0
    const { settings } = await folder.load()
    const ports = portsOf(settings, {
      ...stores,
      tenant: 'default',
      publicUrl: 'http://localhost',
      hasher: quickHasher,
      formerUntil: () => null,
      formerLinks: { find: () => null },
      eventHandlers: recording(),
      handlers: [],
      clock: () => new Date(),
      keyRing: derivedKeys(goodSecret),
      report() {},
      reportProvider() {},
      attacked() {},
      withheld() {},
      deliveriesChanged() {},
      warnOfAttack() {},
      warnOfDropped() {},
      warnOfUnrecorded() {},
      warnOfUnnoted() {},
      fieldsDropped() {},
      warnOfProviderFields() {},
      wakeRelay: () => void woken++,
    })
    const { registerUser, changeUser, promoteUser, deleteUser } = useCasesOf(ports)
    const requestId = 'request-of-a-test'
    const email = 'somebody@example.com' as Email // safe: it is one

    const user = await registerUser.execute({ email, password, requestId })
    expect(woken, 'after a registration').to.equal(1)
    await registerUser.execute({ email, password, requestId }).catch(() => undefined)
    expect(woken, 'after a refused registration').to.equal(1)
    await changeUser.execute(user.id, (fresh) => ({ type: 'replace', user: fresh, events: [] }))
    expect(woken, 'after a write without events').to.equal(1)
    await promoteUser.execute({ email, requestId })
    expect(woken, 'after a change').to.equal(2)
    await deleteUser.execute({ by: { type: 'command' }, isForced: true, target: user, requestId })
    expect(woken, 'after a removal').to.equal(3)
  })
})
