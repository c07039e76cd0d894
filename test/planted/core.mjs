// Guards of logging in, of passwords, of answers that are durable, and of readiness. See scripts/planted-faults.mjs.

const hashes = ['test/application/held-hashes.test.ts']
const pool = ['test/adapters/crypto/hash-pool.test.ts']
const update = 'src/application/accounts/update-user.ts'
const concerns = 'src/adapters/stores/mongo/connection.ts'
const mongo = ['test/adapters/stores/mongo.test.ts']
const sqlite = ['test/adapters/stores/sqlite.test.ts']
const stores = ['test/config/open-stores.test.ts']

export default [
  [
    'a result of a hash that is kept until more of them come, which nobody wants',
    'src/adapters/crypto/hash-pool.ts',
    'line.jobs.length >= 2 * handedOverTogether &&',
    '',
    pool,
    'hands over four results',
  ],
  [
    'a result of a hash that is kept though those it waits for have failed',
    'src/adapters/crypto/hash-pool.ts',
    `return { value, beganAt, tookMs }
          } finally {
            giveBack(line, permits)
            await handedOver(permits, isTimed)`,
    `giveBack(line, permits)
            await handedOver(permits, isTimed)
            return { value, beganAt, tookMs }
          } catch (error) {
            giveBack(line, permits)
            throw error`,
    pool,
    'when those that wait fail',
  ],
  [
    'a result of a dear hash that is kept for long',
    'src/adapters/crypto/hash-pool.ts',
    'secondsOf(line, handedOverTogether - 1) <= longestKeptSeconds',
    'true',
    pool,
    'a tenth of a second',
  ],
  [
    'a result of a hash that waits for the turns of another tenant',
    'src/adapters/crypto/hash-pool.ts',
    'waiting.length === 1 && ',
    '',
    pool,
    'those of another tenant wait',
  ],
  [
    'a result of a hash that is kept when another tenant lines up',
    'src/adapters/crypto/hash-pool.ts',
    'if (waiting.length > 1) handOver()',
    '',
    pool,
    'when one of another tenant comes',
  ],
  [
    'a result of a hash that waits beside a job of another tenant',
    'src/adapters/crypto/hash-pool.ts',
    'line.held === size - free && ',
    '',
    pool,
    'while one of another tenant runs',
  ],
  [
    'a result of a hash that waits for three of several lanes',
    'src/adapters/crypto/hash-pool.ts',
    ' && permits === 1',
    '',
    pool,
    'jobs of several lanes',
  ],
  [
    'a result of a hash that is kept beside jobs that are dearer than the mean',
    'src/adapters/crypto/hash-pool.ts',
    'if (kept.length === 0) latest',
    'if (kept.length === 9) latest',
    pool,
    'dearer than those before them',
  ],
  [
    'a mismatch that is kept beyond the moment it is answered at',
    'src/adapters/crypto/argon2-hasher.ts',
    'isTimed: floorMs > 0',
    'isTimed: false',
    ['test/adapters/crypto/argon2-hasher.test.ts'],
    'answered at a moment',
  ],
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
  ['a write to a file without a name', 'src/adapters/stores/sqlite/file.ts', '    demandSame()\n', '', sqlite],
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
    'a connection that goes on after another protocol was asked for',
    'src/adapters/http/server/http-server.ts',
    "if (request.headers.upgrade !== undefined) response.setHeader('Connection', 'close')",
    '',
    ['test/http/server.test.ts'],
    'another protocol',
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
    'tokens printed behind a proxy, of which nobody hears',
    'src/config/settings/validate.ts',
    '...doubtsOfTryingOut(settings),',
    '',
    ['test/config/judge-settings.test.ts'],
    'for trying out',
  ],
  [
    'a length that is judged late',
    'src/adapters/http/body/read-body.ts',
    "if (isTooLong(ctx.req.headers)) throw new Unreadable(413, 'PAYLOAD_TOO_LARGE')",
    '',
    ['test/http/bodies.test.ts'],
  ],
  [
    'a moment of reading that never ends',
    'src/adapters/stores/sqlite/read-transaction.ts',
    'began.then(finishAfterMicrotasks)',
    '',
    ['test/adapters/stores/sqlite-reads.test.ts'],
  ],
  [
    'a byte order mark that multipart passwords lose',
    'src/adapters/http/body/read-body.ts',
    "const text = bytes.toString('latin1')\n  if (has",
    'const text = bytes.toString()\n  if (has',
    ['test/http/bodies.test.ts'],
    'of multipart forms',
  ],
  [
    'a part of a form that stands for other bytes than it shows',
    'src/adapters/http/body/read-body.ts',
    'if (hasEncodedPart(text)) throw unparsable()',
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
    'lives on',
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
    'await judgePermissions(whileOpen,',
    "if (prefix === '') await judgePermissions(whileOpen,",
    ['test/adapters/stores/redis-outages.test.ts'],
    'may not do',
  ],
  [
    'a system call for each command to Redis',
    'src/adapters/stores/redis/connection.ts',
    'sendTogether(redis.stream)\n',
    '\n',
    ['test/adapters/stores/redis.test.ts'],
    'in one turn',
  ],
].map(([title, file, text, replacement, tests, only]) => ({
  title: `core: ${title}`,
  file,
  text,
  replacement,
  tests,
  only,
}))
