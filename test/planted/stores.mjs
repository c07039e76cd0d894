// Faults in stores and in the separation of tenants. See scripts/planted-faults.mjs.

export default [
  {
    title: 'a write to MongoDB counts with one server',
    file: 'src/adapters/stores/mongo/connection.ts',
    text: "w: 'majority' as const, journal: true",
    replacement: 'w: 1 as const, journal: false',
    tests: ['test/adapters/stores/mongo.full.test.ts'],
  },
  {
    title: 'other users of the machine can read the database',
    file: 'src/adapters/stores/sqlite/connection.ts',
    text: ', fileMustExist: true',
    replacement: '',
    tests: ['test/adapters/stores/sqlite.test.ts'],
  },
  {
    title: 'users are served with the secret of another installation',
    file: 'src/config/composition/stores.ts',
    text: "isReady && roles.includes('users')",
    replacement: "roles.includes('users')",
    tests: ['test/config/open-stores.test.ts'],
  },
  {
    title: 'SQLite links one account to two users',
    file: 'src/adapters/stores/sqlite/write/users.ts',
    text: "return isTaken ? 'account_taken' : null",
    replacement: 'return null',
    tests: ['test/adapters/stores.test.ts'],
    only: 'the sqlite store',
  },
  {
    title: 'SQLite gives one address to two users',
    file: 'src/adapters/stores/sqlite/write/users.ts',
    text: "if (owner !== undefined && owner.id !== own) return 'email_taken'",
    replacement: '',
    tests: ['test/adapters/stores.test.ts'],
    only: 'the sqlite store',
  },
  {
    title: 'MongoDB links one account to two users',
    file: 'src/adapters/stores/unique-keys.ts',
    text: 'return [emailUniqueKey(emailKey(user.email)), ...accounts]',
    replacement: 'return [emailUniqueKey(emailKey(user.email))]',
    tests: ['test/adapters/stores.test.ts'],
    only: 'the MongoDB store',
  },
  {
    title: 'Redis gives one state to two callers',
    file: 'src/adapters/stores/redis/oauth-states.ts',
    text: 'const text = await ask((redis) => redis.getdel(keyOf(digest)))',
    replacement: `const text = await ask((redis) => redis.get(keyOf(digest)))
      await ask((redis) => redis.del(keyOf(digest)))`,
    tests: ['test/adapters/stores.test.ts'],
    only: 'the redis store',
  },
  {
    title: 'all tenants share one user store',
    file: 'src/config/composition/ports.ts',
    text: 'users: waking(users.users, wake), hasher',
    replacement: 'users: (globalThis.planted ??= waking(users.users, wake)), hasher',
    tests: ['test/tenants/isolation.full.test.ts'],
  },
  {
    title: 'all tenants share one session store',
    file: 'src/config/composition/ports.ts',
    text: 'const { users, keyRing, attacked, wake, ...others } = opened',
    replacement: `const { users, keyRing, attacked, wake, ...rest } = opened
  const others = { ...rest, sessions: (globalThis.planted ??= rest.sessions) }`,
    tests: ['test/tenants/isolation.full.test.ts'],
  },
  {
    title: 'two tenants are configured to the same records',
    file: 'src/config/settings/tenant-places.ts',
    text: 'if (place !== null) add(',
    replacement: 'if (false) add(',
    tests: ['test/config/tenants.test.ts'],
  },
]
