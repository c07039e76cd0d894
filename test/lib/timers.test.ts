import { getEventListeners } from 'node:events'
import { expect } from 'chai'
import { unlessAborted } from '../../src/lib/timers.ts'
import { faultOf } from '../support/fault-of.ts'

const never = new Promise(() => undefined)

describe('waiting for work unless a signal is aborted', () => {
  it('ends with the work, and leaves no listener at the signal', async () => {
    const { signal } = new AbortController()
    await unlessAborted(Promise.resolve(), signal)
    const fault = new Error('no')
    expect(await faultOf(unlessAborted(Promise.reject(fault), signal))).to.equal(fault)
    expect(getEventListeners(signal, 'abort')).to.deep.equal([])
  })

  it('ends when the signal is aborted, also before', async () => {
    const hurry = new AbortController()
    const waiting = unlessAborted(never, hurry.signal)
    hurry.abort()
    await waiting
    await unlessAborted(never, hurry.signal)
  })
})
