import { setImmediate as nextIteration } from 'node:timers/promises'
import { expect } from 'chai'
import { requestPacing } from '../../../src/adapters/http/server/request-pacing.ts'

describe('the pacing of requests', () => {
  it('lets clients take turns, as which all networks of an IPv6 /48 count', async () => {
    const pace = requestPacing()
    const order: string[] = []
    const flood = Array.from({ length: 100 }, (_, at) => `2001:db8:1:${at}::/64`)
    const clients = [...flood, 'first', 'second']
    for (const client of clients) {
      pace(
        () => void order.push(client),
        () => client,
      )
    }
    while (order.length < clients.length) await nextIteration()
    expect([order.indexOf('first'), order.indexOf('second')]).to.deep.equal([17, 18])
  })
})
