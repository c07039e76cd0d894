/** Whether this is `npm run test:long`, which takes its time. */
export const isLong = process.env.TEST_LONG === '1'

/** How often to do something: fewer times in `npm test` than in `npm run test:long`. */
export function rounds(short: number, long: number): number {
  return isLong ? long : short
}

/** The setting `ids` of services in the process of the tests: \`npm run test:long\` repeats suites with integers. */
export const idsOfTests = process.env.TEST_IDS === undefined ? {} : { PORTCULLIS_IDS: process.env.TEST_IDS }

/** For behaviour of UUIDs alone. */
export const itWithUuids = process.env.TEST_IDS === undefined ? it : it.skip
