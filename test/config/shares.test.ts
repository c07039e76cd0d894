import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'chai'
import { unshared } from '../../src/adapters/stores/store-backend.ts'
import { openShares } from '../../src/config/composition/shared-resources.ts'

/** Things that know their number, of which it is told which were opened and closed. */
function things() {
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

describe('what stores share', () => {
  it('is opened once for several holders, and closed when the last of them lets go', async () => {
    const { lease } = openShares()
    const { log, open, close } = things()
    const [one, other] = [lease('key', open, close), lease('key', open, close)]
    expect(one.value).to.equal(other.value)
    await one.release()
    expect(log).to.deep.equal(['open 1'])
    const third = lease('key', open, close)
    await other.release()
    expect(log).to.deep.equal(['open 1'])
    await third.release()
    expect(log).to.deep.equal(['open 1', 'closing 1', 'closed 1'])
  })

  it('is another one by another key', async () => {
    const { lease } = openShares()
    const { log, open, close } = things()
    const [one, other] = [lease('key', open, close), lease('other key', open, close)]
    expect(one.value).not.to.equal(other.value)
    await one.release()
    expect(log).to.deep.equal(['open 1', 'open 2', 'closing 1', 'closed 1'])
    await other.release()
  })

  it('is let go once by a holder who says so twice', async () => {
    const { lease } = openShares()
    const { log, open, close } = things()
    const [one, other] = [lease('key', open, close), lease('key', open, close)]
    await Promise.all([one.release(), one.release()])
    expect(log).to.deep.equal(['open 1'])
    await Promise.all([other.release(), other.release()])
    expect(log).to.deep.equal(['open 1', 'closing 1', 'closed 1'])
  })

  it('is a new one for who comes while the last is being closed', async () => {
    const { lease } = openShares()
    const { log, open, close } = things()
    const one = lease('key', open, close)
    const released = one.release()
    const next = lease('key', open, close)
    expect(next.value.number).to.equal(2)
    await released
    expect(lease('key', open, close).value).to.equal(next.value)
    expect(log).to.deep.equal(['open 1', 'closing 1', 'open 2', 'closed 1'])
  })

  it('is not kept when it could not be opened, and forgotten even if closing it fails', async () => {
    const { lease } = openShares()
    const { log, open, close } = things()
    const fails = () => {
      throw new Error('not today')
    }
    expect(() => lease('key', fails, close)).to.throw('not today')
    const failing = lease('key', open, async () => fails())
    expect(await failing.release().catch(String)).to.equal('Error: not today')
    expect(lease('key', open, close).value.number).to.equal(2)
    expect(log).to.deep.equal(['open 1', 'open 2'])
  })

  it('is nothing for who shares nothing', async () => {
    const { log, open, close } = things()
    const [one, other] = [unshared.lease('key', open, close), unshared.lease('key', open, close)]
    expect(one.value).not.to.equal(other.value)
    await Promise.all([one.release(), one.release()])
    expect(log).to.deep.equal(['open 1', 'open 2', 'closing 1', 'closed 1'])
    await other.release()
  })
})
