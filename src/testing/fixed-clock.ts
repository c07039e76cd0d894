/** A clock that stands still until it is moved. It starts at the real time, because some servers expire by their own clock. */
export interface FixedClock {
  (): Date
  /** Moves the clock by this many seconds, backwards when negative. */
  advance(seconds: number): void
}

export function fixedClock(start = new Date()): FixedClock {
  let now = start.getTime()
  const clock = () => new Date(now)
  return Object.assign(clock, {
    advance(seconds: number) {
      now += seconds * 1000
    },
  })
}
