import { expect } from 'chai'
import { measuredLimits } from '../../../src/adapters/metrics/measured.ts'
import type { Metrics } from '../../../src/adapters/metrics/metrics.ts'
import { limitNames } from '../../../src/application/limits/counters.ts'
import { type Limits, unlimited } from '../../../src/application/limits/limits.ts'
import { LimitReached } from '../../../src/domain/refusal.ts'
import { faultOf } from '../../support/fault-of.ts'

describe('measured limits', () => {
  it('count each limit that throws, whichever method reaches it', async () => {
    const [limit = ''] = limitNames
    const refuse = async () => {
      throw new LimitReached(`limits.${limit}`, 1)
    }
    const reached: string[] = []
    const metrics = { limitReached: (name: string) => reached.push(name) } as unknown as Metrics // safe: no other is called
    for (const name of ['password', 'factor', 'challenge', 'request'] as const) {
      const limits = measuredLimits({ ...unlimited, [name]: refuse } as Limits, metrics) // safe: it never answers
      const act = limits[name] as (...input: readonly unknown[]) => Promise<unknown> // safe: `refuse` reads no input
      expect(await faultOf(act()), name).to.be.instanceOf(LimitReached)
    }
    expect(reached).to.deep.equal([limit, limit, limit, limit])
  })
})
