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

  let woken = 0
  const portsAt = async (publicUrl: string, tenant = 'default', config: object = {}) => {
    const { settings } = await folder.load(config)
    return portsOf(settings, {
      ...stores,
      tenant,
      publicUrl,
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
      warnOfUntold() {},
      warnOfCopiedPasskey() {},
      warnOfClock() {},
      fieldsDropped() {},
      warnOfProviderFields() {},
      wakeRelay: () => void woken++,
    })
  }

  it('name their service in authenticator apps as on the pages, and tenants of one name apart', async () => {
    const issuerAt = async (...place: Parameters<typeof portsAt>) => {
      const { factorCodes } = await portsAt(...place)
      return new URL(await factorCodes.totpAddress('A'.repeat(32), 'ada@example.com')).searchParams.get('issuer')
    }
    const named = { pages: { name: 'Acme' } }
    expect(await issuerAt('https://accounts.example.com')).to.equal('accounts.example.com')
    expect(await issuerAt('http://localhost:8000')).to.equal('Portcullis')
    expect(await issuerAt('https://accounts.example.com', 'default', named)).to.equal('Acme')
    expect(await issuerAt('https://accounts.example.com', 'north', named)).to.equal('Acme (north)')
    expect(await issuerAt('https://accounts.example.com', 'south', named)).to.equal('Acme (south)')
  })

  it('wake the relay after each write of events, and after no other', async () => {
    const ports = await portsAt('http://localhost')
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
