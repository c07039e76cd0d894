import { setImmediate as nextIteration } from 'node:timers/promises'
import { expect } from 'chai'
import { requestPacing } from '../../../src/adapters/http/server/request-pacing.ts'

describe('the pacing of requests', () => {
  it('begins 16 tasks in an iteration of the event loop', async () => {
    const pace = requestPacing()
    let begun = 0
    for (let task = 0; task < 40; task++) {
      pace(
        () => void begun++,
        () => 'one',
      )
    }
    const counts = [begun]
    for (let turn = 0; turn < 3; turn++) {
      await nextIteration()
      counts.push(begun)
    }
    expect(counts).to.deep.equal([16, 32, 40, 40])
  })

  it('lets clients take turns', async () => {
    const pace = requestPacing()
    const order: string[] = []
    const clients = [...Array<string>(100).fill('flood'), 'first', 'second']
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
