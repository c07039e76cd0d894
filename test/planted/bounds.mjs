// Guards of what is bounded, counted once, or read as it was written. See scripts/planted-faults.mjs.

const redis = 'src/adapters/stores/redis/redis.ts'
const outages = ['test/adapters/stores/redis-outages.test.ts']
const provided = 'src/application/oauth/read-provider-token.ts'

export default [
  [
    'a body of HTTP/1.0 whose end others see elsewhere',
    'src/adapters/http/server/answer.ts',
    "ctx.req.httpVersion !== '1.1'",
    "ctx.req.httpVersion === '0.9'",
    ['test/http/methods-and-paths.test.ts'],
    'a coding in HTTP/1.0',
  ],
  ['a replica beside which no service starts', redis, '(READONLY|OOM|', '(OOM|', outages, 'replica: what is there'],
  [
    'thousands of sessions that are asked for at once',
    'src/application/deliveries/relay-events.ts',
    'const sessionsAtOnce = 32',
    'const sessionsAtOnce = 100_000',
    ['test/application/relay-events.test.ts'],
    'a few of a user',
  ],
  [
    'sessions beyond the first few that nobody tidies',
    'src/application/deliveries/relay-events.ts',
    'first < digests.length',
    'first < sessionsAtOnce',
    ['test/application/relay-events.test.ts'],
    'a few of a user',
  ],
  [
    'a promotion that tells of what was so before',
    'src/application/accounts/promote-user.ts',
    '...(!fresh.isVerified && { isVerified: true })',
    'isVerified: true',
    ['test/application/promote-user.test.ts'],
  ],
  [
    'a refreshed token that is lost with one failure of the store',
    provided,
    '!(fault instanceof Unavailable) || ',
    'fault !== null || ',
    ['test/oauth/read-provider-token.test.ts'],
    'written down in the end',
  ],
  [
    'a claim on a token that cannot be refreshed',
    provided,
    'if (refreshToken === null) return null\n',
    '\n',
    ['test/oauth/read-provider-token.test.ts'],
    'another secret sealed',
  ],
  [
    'hashes at a cost that none can be verified at',
    'src/config/settings/schema/passwords.ts',
    'maximum: greatestCost.memoryKiB',
    'maximum: 4 * greatestCost.memoryKiB',
    ['test/config/judge-settings.test.ts'],
    'too much memory',
  ],
].map(([title, file, text, replacement, tests, only]) => ({
  title: `bounds: ${title}`,
  file,
  text,
  replacement,
  tests,
  only,
}))
