// Faults in limits and in what they need. See scripts/planted-faults.mjs.

export default [
  {
    title: 'a wrong password is given back',
    file: 'src/application/limits/counted-limits.ts',
    text: 'if (verified !== null) await this.#forgive(taken)',
    replacement: 'await this.#forgive(taken)',
    tests: ['test/application/limits/counted-limits.test.ts'],
  },
  {
    title: 'a failed verification counts',
    file: 'src/application/limits/counted-limits.ts',
    text: `      await this.#giveBack(taken)
      throw thrown`,
    replacement: '      throw thrown',
    tests: ['test/application/limits/counted-limits.test.ts'],
  },
  {
    title: 'a point is given back to the next window',
    file: 'src/application/limits/counted-limits.ts',
    text: 'expiresAt - now > marginMilliseconds',
    replacement: 'expiresAt - now > 0',
    tests: ['test/application/limits/counted-limits.test.ts'],
  },
  {
    title: 'a login with a device token uses up the counter of its account',
    file: 'src/application/limits/counted-limits.ts',
    text: `deviceId))
      return`,
    replacement: 'deviceId))',
    tests: ['test/application/limits/counted-limits.test.ts'],
  },
  {
    title: 'the pauses of a client hold for all accounts',
    file: 'src/application/limits/counted-limits.ts',
    text: "this.#count('passwordsBeforePauses', client, account)",
    replacement: "this.#count('passwordsBeforePauses', client)",
    tests: ['test/application/limits/counted-limits.test.ts'],
  },
  {
    title: 'a device token counts without its signature',
    file: 'src/adapters/crypto/device-tokens.ts',
    text: 'rest.length === 0 && isSame(mac, macOf(id, expiry, account))',
    replacement: 'rest.length === 0 && mac !== account',
    tests: ['test/adapters/crypto/device-tokens.test.ts'],
  },
  {
    title: 'a device token holds for every account',
    file: 'src/adapters/crypto/device-tokens.ts',
    text: 'framed(id, expiry, account)',
    replacement: 'framed(id, expiry)',
    tests: ['test/adapters/crypto/device-tokens.test.ts'],
  },
  {
    title: 'a login beyond a limit reads the user',
    file: 'src/application/sign-in/log-in.ts',
    text: '    const account = email === null ? null : emailKey(email)\n',
    replacement: `    const account = email === null ? null : emailKey(email)
    if (account !== null) await this.#needs.users.findByEmail(account)
`,
    tests: ['test/application/limits/limited-use-cases.test.ts'],
  },
  {
    title: 'an address gets any number of tokens',
    file: 'src/application/accounts/request-token.ts',
    text: 'if (!(await limits.maySendToken(purpose, key))) return',
    replacement: 'await limits.maySendToken(purpose, key)',
    tests: ['test/application/limits/limited-use-cases.test.ts'],
  },
  {
    title: 'one client fills the room of the hash pool',
    file: 'src/adapters/crypto/hash-pool.ts',
    text: 'const shareOfClient = 1 / 4',
    replacement: 'const shareOfClient = 1',
    tests: ['test/adapters/crypto/hash-pool.test.ts'],
  },
  {
    title: 'an attack is reported at each attempt',
    file: 'src/application/limits/report-attack.ts',
    text: 'if (reports.points > 1) return',
    replacement: '',
    tests: ['test/application/limits/report-attack.test.ts'],
  },
]
