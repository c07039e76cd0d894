/** Skips a suite, with a warning at the end of the run, for this obstacle. Where servers are required (CI) the suite fails. */
export function skipIfMissing(suite: Mocha.Context, obstacle: string | null): void {
  if (obstacle === null) return
  if (process.env.TEST_REQUIRE_SERVERS === '1') throw new Error(obstacle)
  const title = suite.test?.parent?.fullTitle() ?? 'a suite'
  process.once('exit', () => console.warn(`NOT TRIED: ${title}, since ${obstacle}`))
  suite.skip()
}
