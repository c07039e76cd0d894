// Guards of logging in, of passwords, of answers that are durable, and of readiness. See scripts/planted-faults.mjs.

const hashes = ['test/application/held-hashes.test.ts']
const update = 'src/application/accounts/update-user.ts'
const concerns = 'src/adapters/stores/mongo/connection.ts'
const mongo = ['test/adapters/stores/mongo.test.ts']
const sqlite = ['test/adapters/stores/sqlite.test.ts']
const stores = ['test/config/open-stores.test.ts']

export default [
  [
    'a hash that is not renewed',
    'src/application/sign-in/log-in.ts',
    "if (verdict === 'match_needs_rehash') await this.#rehash(user, input.password)",
    '',
    hashes,
  ],
  [
    'a renewed hash over a new password',
    'src/application/sign-in/log-in.ts',
    'await this.#needs.users.replace({ ...user, passwordHash: await this.#needs.hasher.hash(password) }, [])',
    `const passwordHash = await this.#needs.hasher.hash(password)
      await this.#needs.changeUser.execute(user.id, (fresh) => ({
        type: 'replace',
        user: { ...fresh, passwordHash },
        events: [],
      }))`,
    hashes,
  ],
  [
    'a login that nobody listens to, written down',
    'src/application/sign-in/issue-credential.ts',
    "needs.eventHandlers.handles('on_after_login')",
    'true',
    hashes,
  ],
  ['a password of who was logged out', update, 'if (!isAlive(fresh, by.credential)) throw', 'if (false) throw', hashes],
  ['two passwords by one current password', update, 'fresh.passwordVersion !== verified', 'false', hashes],
  ['a right that was taken away', update, 'await this.#judgeAgain(by.user, requireRight)', '', hashes],
  [
    'a used token that stays',
    'src/application/accounts/redeem-token.ts',
    'await tokens.remove(token.purpose, token.digest)',
    'await Promise.resolve()',
    ['test/http/reset-password.test.ts'],
  ],
  [
    'a write that one server has',
    concerns,
    "w: 'majority' as const, journal: true",
    'w: 1 as const, journal: false',
    mongo,
  ],
  [
    'a read of what may be rolled back',
    concerns,
    "new driver.ReadConcern('majority')",
    "new driver.ReadConcern('local')",
    mongo,
  ],
  ['a write to a file without a name', 'src/adapters/stores/sqlite/write/batch.ts', '    check()\n', '', sqlite],
  [
    'a file that others can read',
    'src/adapters/stores/sqlite/connection.ts',
    ', fileMustExist: true',
    '',
    ['test/adapters/stores/sqlite.test.ts'],
  ],
  [
    'requests that nobody looks at',
    'src/application/deliveries/sweep.ts',
    'exhaust(() => tokenRequests.sweep(askedBefore, batch))',
    'Promise.resolve(0)',
    ['test/application/sweep.test.ts'],
  ],
  [
    'users behind a secret that may be another’s',
    'src/config/composition/stores.ts',
    '() => store.isReady && !isClosed',
    '() => !isClosed',
    stores,
  ],
  [
    'stores that are asked by every probe',
    'src/config/composition/stores.ts',
    'now - lastPing.at > pingMemorySeconds * 1000',
    'true',
    stores,
  ],
  [
    'a last answer that does not say so',
    'src/adapters/http/server/http-server.ts',
    "if (isClosing) response.setHeader('Connection', 'close')",
    '',
    ['test/http/server.test.ts'],
  ],
  [
    'a handler that is no function, of which nobody hears',
    'src/adapters/events/handler-names.ts',
    "known.has(name) ? typeof Reflect.get(object, name) !== 'function' : ",
    '!known.has(name) && ',
    ['test/adapters/events/handler-names.test.ts'],
    'no function',
  ],
  [
    'tokens printed where others reach the service, without a warning',
    'src/config/settings/validate.ts',
    '...doubtsOfDevelopment(settings),',
    '',
    ['test/config/judge-settings.test.ts'],
    'handlers.console prints tokens',
  ],
  [
    'a length that is judged late',
    'src/adapters/http/body/read-body.ts',
    "if (isTooLong(ctx.req.headers)) throw new Unreadable(413, 'PAYLOAD_TOO_LARGE')",
    '',
    ['test/http/bodies.test.ts'],
  ],
  [
    'a part of a form that stands for other bytes than it shows',
    'src/adapters/http/body/form.ts',
    ' || isEncoded(headers)',
    '',
    ['test/http/bodies.test.ts'],
    'of multipart forms',
  ],
  [
    'credentials that live again after a restore',
    'src/domain/user.ts',
    'Math.max(user.sessions.generation + 1, now.getTime())',
    'user.sessions.generation + (now ? 1 : 0)',
    ['test/domain/user.test.ts'],
  ],
  [
    'a handler that ends its thread by what it throws',
    'src/adapters/events/handler-failure.ts',
    'return thrown instanceof Error ? describeError(thrown) : describeOther(thrown)\n  } catch {',
    "return thrown instanceof Error ? describeError(thrown) : describeOther(thrown)\n  } catch (e) {\n    if (e !== '') throw e",
    ['test/adapters/events/handler-module.test.ts'],
    'survives any value',
  ],
  [
    'tenants of the environment that nobody serves',
    'src/config/settings/load.ts',
    ' || ofTenants.length > 0 || faultsOfTenants.length > 0',
    '',
    ['test/config/tenants.test.ts'],
    'environment alone',
  ],
  [
    'a user of Redis who lacks a permission and is told of none',
    'src/adapters/stores/redis/redis.ts',
    'await checkPermissions(whileOpen,',
    "if (prefix === '') await checkPermissions(whileOpen,",
    ['test/adapters/stores/redis-outages.test.ts'],
    'may not do',
  ],
  [
    'a system call for each command to Redis',
    'src/adapters/stores/redis/connection.ts',
    'sendTogether(redis.stream)\n',
    '\n',
    ['test/adapters/stores/redis.test.ts'],
    'of one turn',
  ],
].map(([title, file, text, replacement, tests, only]) => ({
  title: `core: ${title}`,
  file,
  text,
  replacement,
  tests,
  only,
}))
