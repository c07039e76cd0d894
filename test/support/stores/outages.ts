import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import { Unavailable } from '../../../src/domain/refusal.ts'
import { inTime } from '../in-time.ts'

/** Requires `operation` to throw `Unavailable` within 2 s, as every store promises. Answers the error. */
export async function expectUnavailable(operation: () => Promise<unknown>): Promise<Unavailable> {
  const start = performance.now()
  const outcome = await operation().then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
  const took = performance.now() - start
  const error = 'error' in outcome ? outcome.error : undefined
  if (!(error instanceof Unavailable)) throw new Error('expected Unavailable', { cause: outcome })
  expect(took, 'ms until Unavailable').to.be.below(inTime)
  return error
}

/** Repeats `operation` while it throws `Unavailable`, for at most `seconds`. Returns its result. */
export async function recovers<T>(operation: () => Promise<T>, seconds = 60): Promise<T> {
  for (const deadline = performance.now() + seconds * 1000; ; await delay(20)) {
    try {
      return await operation()
    } catch (error) {
      if (!(error instanceof Unavailable) || performance.now() > deadline) throw error
    }
  }
}
