/** Whether this is `npm run test:long`, which takes its time. */
export const isLong = process.env.TEST_LONG === '1'

/** How often to do something: fewer times in `npm test` than in `npm run test:long`. */
export function rounds(short: number, long: number): number {
  return isLong ? long : short
}
