import { expect } from 'chai'
import { type Closable, longestDeliverySeconds } from '../../../src/adapters/tenants/directory.ts'
import { oneTenant } from '../../../src/adapters/tenants/one-tenant.ts'
import { eventually } from '../../support/eventually.ts'

describe('the only tenant', () => {
  it('closes its former opening and the present one within one grace period', async () => {
    const stops: string[] = []
    const former = Promise.withResolvers<void>()
    const opening = (name: string): Closable => ({
      isReady: () => true,
      failing: async () => undefined,
      startDeliveries() {},
      startDue: async () => undefined,
      oneRound: async () => undefined,
      nextDue: async () => null,
      async stopDeliveries(graceSeconds) {
        stops.push(`${name} has ${graceSeconds} s`)
        if (name === 'former') await former.promise
      },
      close: async () => void stops.push(`${name} is closed`),
    })
    const openings = ['former', 'present']
    const directory = oneTenant<Closable, { id: string; number: number }>(
      { id: 'default', number: 1 },
      { open: async () => opening(openings.shift() ?? ''), failed() {}, log: { error() {} } },
    )
    await directory.prepare()
    await directory.replace({ enabled: new Map([['default', { id: 'default', number: 2 }]]), disabled: new Map() })
    const closing = directory.close(8)
    await eventually('the end of the present opening', () => stops.includes('present is closed'))
    expect(stops).to.deep.equal([`former has ${longestDeliverySeconds} s`, 'present has 8 s', 'present is closed'])
    former.resolve()
    await closing
    expect(stops.at(-1)).to.equal('former is closed')
  })
})
