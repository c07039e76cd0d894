import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'chai'
import { openShares } from '../../../src/adapters/stores/store-backend.ts'

/** Opens numbered resources, and logs which were opened and closed. */
function resources() {
  const log: string[] = []
  let count = 0
  return {
    log,
    open: () => {
      count++
      log.push(`open ${count}`)
      return { number: count }
    },
    close: async ({ number }: { number: number }) => {
      log.push(`closing ${number}`)
      await nextTurn()
      log.push(`closed ${number}`)
    },
  }
}

describe('a shared resource', () => {
  it('is opened again while the former one is being closed', async () => {
    const { lease } = openShares()
    const { log, open, close } = resources()
    const one = lease('key', open, close)
    const released = one.release()
    const next = lease('key', open, close)
    expect(next.value.number).to.equal(2)
    await released
    expect(lease('key', open, close).value).to.equal(next.value)
    expect(log).to.deep.equal(['open 1', 'closing 1', 'open 2', 'closed 1'])
  })

  it('is opened again after opening or closing it has failed', async () => {
    const { lease } = openShares()
    const { log, open, close } = resources()
    const fails = () => {
      throw new Error('broken')
    }
    expect(() => lease('key', fails, close)).to.throw('broken')
    const failing = lease('key', open, async () => fails())
    expect(await failing.release().catch(String)).to.equal('Error: broken')
    expect(lease('key', open, close).value.number).to.equal(2)
    expect(log).to.deep.equal(['open 1', 'open 2'])
  })
})
