/** A clock that stands until it is moved. It starts at the real time, since some servers expire by their own. */
export interface FixedClock {
  (): Date
  /** Moves it by this many seconds, backwards when negative. */
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
