// Faults in accounts, credentials and requests. See scripts/planted-faults.mjs.

export default [
  {
    title: 'a login renews the hash of a password that was changed meanwhile',
    file: 'src/application/sign-in/log-in.ts',
    text: 'await this.#needs.users.replace({ ...user, passwordHash: await this.#needs.hasher.hash(password) }, [])',
    replacement: `const passwordHash = await this.#needs.hasher.hash(password)
      await this.#needs.changeUser.execute(user.id, (fresh) => ({
        type: 'replace',
        user: { ...fresh, passwordHash },
        events: [],
      }))`,
    tests: ['test/application/held-hashes.test.ts'],
  },
  {
    title: 'a session that has ended sets a new password',
    file: 'src/application/accounts/update-user.ts',
    text: 'if (!(await speaksFor(fresh, by))) throw',
    replacement: 'if (false) throw',
    tests: ['test/application/held-hashes.test.ts'],
  },
  {
    title: 'one current password allows two changes at once',
    file: 'src/application/accounts/update-user.ts',
    text: 'fresh.passwordVersion !== verified',
    replacement: 'false',
    tests: ['test/application/held-hashes.test.ts'],
  },
  {
    title: 'a superuser who was demoted still changes others',
    file: 'src/application/accounts/update-user.ts',
    text: 'await this.#checkAgain(by.user, requireRight)',
    replacement: '',
    tests: ['test/application/held-hashes.test.ts'],
  },
  {
    title: 'a token works twice',
    file: 'src/application/accounts/redeem-token.ts',
    text: 'await tokens.remove(token.purpose, token.digest)',
    replacement: 'await Promise.resolve()',
    tests: ['test/http/one-time-tokens.test.ts'],
  },
  {
    title: 'ended credentials are valid again after a restore',
    file: 'src/domain/user.ts',
    text: 'Math.max(user.sessions.generation + 1, now.getTime())',
    replacement: 'user.sessions.generation + (now ? 1 : 0)',
    tests: ['test/domain/user.test.ts'],
  },
  {
    title: 'a request can be smuggled in an HTTP/1.0 body',
    file: 'src/adapters/http/server/answer.ts',
    text: "ctx.req.httpVersion !== '1.1'",
    replacement: "ctx.req.httpVersion === '0.9'",
    tests: ['test/http/methods-and-paths.test.ts'],
    only: 'a coding in HTTP/1.0',
  },
  {
    title: 'a program lets a user change another user',
    file: 'src/application/accounts/update-user.ts',
    text: `    if (!by.user.isSuperuser) throw new Refusal('FORBIDDEN')
`,
    replacement: '',
    tests: ['test/application/checked-accounts.test.ts'],
  },
  {
    title: 'a user makes himself a superuser',
    file: 'src/application/accounts/update-user.ts',
    text: 'const changes = { email, password }',
    replacement: 'const changes = { ...input.changes, email, password }',
    tests: ['test/application/checked-accounts.test.ts'],
  },
  {
    title: 'the credential of one user acts for another',
    file: 'src/application/checked-accounts.ts',
    text: 'const isTheirs = isUserId(user?.id) && credential?.userId === user.id',
    replacement: 'const isTheirs = isUserId(user?.id) && isUserId(credential?.userId)',
    tests: ['test/application/checked-accounts.test.ts'],
  },
  {
    title: 'another site sends a request with the cookie of a user',
    file: 'src/adapters/http/pipeline/identify.ts',
    text: 'if (isByPage && isForeign(headers, ownOrigins()))',
    replacement: 'if (false)',
    tests: ['test/koa/guards.test.ts'],
  },
  {
    title: 'a guard ignores the rights of a user',
    file: 'src/adapters/http/server/koa-accounts.ts',
    text: "if (!admits(by.user)) throw new Refusal('FORBIDDEN')",
    replacement: '',
    tests: ['test/koa/guards.test.ts'],
  },
  {
    title: 'a guard shows the password hash of a user to the app',
    file: 'src/adapters/http/server/koa-accounts.ts',
    text: 'user: viewOf(by.user)',
    replacement: 'user: by.user',
    tests: ['test/koa/guards.test.ts'],
  },
]
