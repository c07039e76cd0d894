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
    text: `      return verified
    } catch (thrown) {
      await this.#giveBack(taken)
      throw thrown
    }
  }

  async factor`,
    replacement: `      return verified
    } catch (thrown) {
      throw thrown
    }
  }

  async factor`,
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
    text: 'counterOf(this.#needs, name, account, knownDevices)',
    replacement: 'counterOf(this.#needs, name, account)',
    tests: ['test/application/limits/counted-limits.test.ts'],
  },
  {
    title: 'the pauses of a client hold for all accounts',
    file: 'src/application/limits/counted-limits.ts',
    text: "countersOf(this.#needs, client, 'passwordsBeforePauses', account)",
    replacement: "countersOf(this.#needs, client, 'passwordsBeforePauses')",
    tests: ['test/application/limits/counted-limits.test.ts'],
  },
  {
    title: 'a device token counts without its signature',
    file: 'src/adapters/crypto/device-tokens.ts',
    text: 'rest.length === 0 && keys.some((one) => isSame(mac, macOf(one, id, expiry, account)))',
    replacement: 'rest.length === 0 && mac !== account',
    tests: ['test/adapters/crypto/device-tokens.test.ts'],
  },
  {
    title: 'a device token holds for every account',
    file: 'src/adapters/crypto/device-tokens.ts',
    text: 'keyedHash(secret, id, expiry, account)',
    replacement: 'keyedHash(secret, id, expiry)',
    tests: ['test/adapters/crypto/device-tokens.test.ts'],
  },
  {
    title: 'a login beyond a limit reads the user',
    file: 'src/application/sign-in/log-in.ts',
    text: '    const { account, find, known } = this.#named(input)\n',
    replacement: `    const { account, find, known } = this.#named(input)
    await find()
`,
    tests: ['test/application/limits/limited-use-cases.test.ts'],
  },
  {
    title: 'an address gets any number of tokens',
    file: 'src/application/one-time-tokens/request-token.ts',
    text: 'if (!(await limits.maySendToken({ purpose, account: key, device: caller.device, requestId }))) return',
    replacement: 'await limits.maySendToken({ purpose, account: key, device: caller.device, requestId })',
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
    title: 'each /64 of a subscriber has its own turns in the hash pool',
    file: 'src/adapters/crypto/hash-pool.ts',
    text: 'client && largestNetworkOf(client)',
    replacement: 'client',
    tests: ['test/adapters/crypto/hash-pool.test.ts'],
  },
  {
    title: 'an attack is reported at each attempt',
    file: 'src/application/limits/report-attack.ts',
    text: 'if (reports.points > 1) return',
    replacement: '',
    tests: ['test/application/limits/report-attack.test.ts'],
  },
  {
    title: 'a password counts only after it was verified',
    file: 'src/application/limits/counted-limits.ts',
    text: `      await this.#takePassword(attempt, taken)
      const verified = await verify()`,
    replacement: `      const verified = await verify()
      await this.#takePassword(attempt, taken)`,
    tests: ['test/application/limits/counted-limits.test.ts'],
  },
  {
    title: 'a client need not wait for the end of a pause',
    file: 'src/application/limits/counted-limits.ts',
    text: 'if (gate.points > 1) throw this.#refuse({ ...pair, key }, this.#now() + gate.expiresIn)',
    replacement: '',
    tests: ['test/application/limits/counted-limits.test.ts'],
  },
  {
    title: 'a valid token counts as a wrong one',
    file: 'src/application/limits/counted-limits.ts',
    text: 'if (!isWrong) await this.#giveBack(taken)',
    replacement: '',
    tests: ['test/application/limits/counted-limits.test.ts'],
  },
  {
    title: 'requests of one moment use up the tokens of the hour',
    file: 'src/application/limits/counted-limits.ts',
    text: 'isFirst ? 1 : 0',
    replacement: '1',
    tests: ['test/application/limits/counted-limits.test.ts'],
  },
  {
    title: 'strangers use up the tokens of a browser with a device token',
    file: 'src/application/limits/counted-limits.ts',
    text: ', ...(isKnown ? [knownDevices] : []))',
    replacement: ')',
    tests: ['test/application/limits/counted-limits.test.ts'],
  },
  {
    title: 'a client forges X-Forwarded-For',
    file: 'src/adapters/http/pipeline/client-address.ts',
    text: 'while (!isFirst && trusted.check(',
    replacement: 'while (!isFirst || trusted.check(',
    tests: ['test/adapters/http/client-address.test.ts'],
  },
  {
    title: 'a client that its proxy does not name is admitted as the proxy',
    file: 'src/adapters/http/pipeline/client-address.ts',
    text: 'if (next === null) return { ...client, isNamed: false }',
    replacement: 'if (next === null) return client',
    tests: ['test/adapters/http/client-address.test.ts'],
  },
  {
    title: 'each address of a /64 is a client',
    file: 'src/adapters/http/pipeline/client-address.ts',
    text: 'return version === 4 ? address : (networksOf(address)[0]?.name ?? address)',
    replacement: 'return address',
    tests: ['test/adapters/http/client-address.test.ts'],
  },
  {
    title: 'the /48 of a client has no limit of its own',
    file: 'src/application/limits/counters.ts',
    text: 'return networksOf(client).map(',
    replacement: 'return networksOf(client).slice(0, 1).map(',
    tests: ['test/application/limits/counted-limits.test.ts'],
  },
  {
    title: 'one /48 opens every record that works once',
    file: 'src/application/single-use/open-share.ts',
    text: 'const part = 1 / 8',
    replacement: 'const part = 1',
    tests: ['test/application/single-use/open-share.test.ts'],
  },
  {
    title: 'all users of an unnamed proxy on this machine are one client',
    file: 'src/adapters/http/pipeline/client-address.ts',
    text: 'isLoopback(address.address) ? null : clientOf(address)',
    replacement: 'clientOf(address)',
    tests: ['test/adapters/http/client-address.test.ts'],
  },
  {
    title: 'a client that has reset its connection is an unknown one',
    file: 'src/adapters/http/pipeline/client-address.ts',
    text: "if (destroyed || localAddress !== undefined) throw new Unreadable(400, 'Bad Request')",
    replacement: '',
    tests: ['test/adapters/http/client-address.test.ts'],
  },
  {
    title: 'an answer 429 is not held back',
    file: 'src/adapters/http/server/answer.ts',
    text: 'if (thrown instanceof LimitReached) await holdBack()',
    replacement: '',
    tests: ['test/http/limits.test.ts'],
    only: 'held back',
  },
  {
    title: 'resets hash in the turn of unknown clients',
    file: 'src/adapters/http/routers/reset-password.ts',
    text: 'execute({ token, password, ...request })',
    replacement: 'execute({ token, password, ...request, caller: undefined })',
    tests: ['test/overload.full.test.ts'],
    only: 'by one client',
  },
  {
    title: 'a counter in memory is kept without points',
    file: 'src/adapters/stores/memory/limiter.ts',
    text: 'if (counter.points > 0) counters.set',
    replacement: 'counters.set',
    tests: ['test/adapters/stores.test.ts'],
    only: 'the memory store as a limiter',
  },
  {
    title: 'SQLite removes counters although few are left',
    file: 'src/adapters/stores/sqlite/limiter.ts',
    text: '(SELECT rowid FROM limits ORDER BY rowid DESC LIMIT 1 OFFSET ?)',
    replacement: '(SELECT max(rowid) FROM limits) - ?',
    tests: ['test/adapters/stores/limiter.full.test.ts'],
    only: 'in SQLite',
  },
  {
    title: 'a login name has counters of its own beside those of its account',
    file: 'src/application/sign-in/log-in.ts',
    text: 'return user === null ? key : emailKey(user.email)',
    replacement: 'return key',
    tests: ['test/application/limits/limited-use-cases.test.ts'],
  },
  {
    title: 'a login name is looked up beyond the limit of its client',
    file: 'src/application/limits/counted-limits.ts',
    text: 'if (isName) taken.push(...(await this.#take(perClient)))',
    replacement: '',
    tests: ['test/application/limits/counted-limits.test.ts'],
  },
  {
    title: 'a store that is down keeps any number of notes',
    file: 'src/application/explain/note-refused.ts',
    text: 'if (this.#waiting >= mostWaiting) return',
    replacement: '',
    tests: ['test/application/explain/note-refused.test.ts'],
  },
  {
    title: 'a login beyond a limit leaves no note',
    file: 'src/application/explain/note-refused.ts',
    text: "if (thrown instanceof LimitReached) return { reason: 'limit_reached', detail: thrown.limit }",
    replacement: 'if (thrown instanceof LimitReached) return null',
    tests: ['test/application/explain/note-refused.test.ts'],
  },
  {
    title: 'a store keeps the address of a refused login',
    file: 'src/application/explain/note-refused.ts',
    text: "return keyRing.counterKey('refused login', account).split(counterSeparator)",
    replacement: 'return keyRing ? [account] : [counterSeparator]',
    tests: ['test/application/explain/note-refused.test.ts'],
  },
  {
    title: 'a login of another person ends the trust of a browser',
    file: 'src/adapters/crypto/device-tokens.ts',
    text: "[token, ...others(before ?? '', account)]",
    replacement: '[token]',
    tests: ['test/adapters/crypto/device-tokens.test.ts'],
    only: 'stays beside those of the last four',
  },
  {
    title: 'a cookie of a former path stays beside the new one',
    file: 'src/adapters/http/transports/cookie-scopes.ts',
    text: '[...new Set([...paths, cookie.path])]',
    replacement: "[...new Set(['/', cookie.path])]",
    tests: ['test/http/cookie-scopes.test.ts'],
  },
  {
    title: 'pages on loopback behind a proxy that does not pass Host redirect to themselves',
    file: 'src/adapters/http/pages/html-page.ts',
    text: 'asked.port !== home.port || ',
    replacement: '',
    tests: ['test/browser/pages.full.test.ts'],
    only: 'behind a proxy that does not pass Host',
  },
]
