// npm run test:long: all the tests, the costly ones with more rounds (see test/support/long.ts).
process.env.TEST_LONG = '1'
await import('./test.mjs')
