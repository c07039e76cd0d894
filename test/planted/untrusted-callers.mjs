// What use cases refuse of callers that no route stands before. See scripts/planted-faults.mjs.
const tests = ['test/application/untrusted-callers.test.ts']

export default [
  {
    title: 'embedded: a user’s own changes hold whatever the caller passes on',
    file: 'src/application/accounts/update-user.ts',
    text: 'return await this.#change(by.user, { email, password }, hash',
    replacement: 'return await this.#change(by.user, input.changes, hash',
    tests,
  },
  {
    title: 'embedded: anybody changes anybody, by a use case',
    file: 'src/application/accounts/update-user.ts',
    text: "    if (!by.user.isSuperuser) throw new Refusal('FORBIDDEN')\n",
    replacement: '',
    tests,
  },
  {
    title: 'embedded: a flag is whatever is truthy',
    file: 'src/application/accounts/update-user.ts',
    text: '  for (const [field, flag] of Object.entries({ isActive, isSuperuser, isVerified })) demandFlag(field, flag)\n',
    replacement: '',
    tests,
  },
  {
    title: 'embedded: the credential of one user acts for another',
    file: 'src/application/sign-in/authenticate.ts',
    text: 'const isTheirs = isUserId(user?.id) && credential?.userId === user.id',
    replacement: 'const isTheirs = isUserId(user?.id) && isUserId(credential?.userId)',
    tests,
  },
  {
    title: 'embedded: an address is registered as it was typed',
    file: 'src/application/accounts/register-user.ts',
    text: "  demandEmail('email', email)\n",
    replacement: '',
    tests,
  },
  {
    title: 'embedded: an address with capitals in its domain is one',
    file: 'src/domain/email.ts',
    text: ' && !capital.test(domain)',
    replacement: '',
    tests,
  },
  {
    title: 'embedded: a query is an id',
    file: 'src/application/oauth/read-provider-token.ts',
    text: '    if (!isUserId(userId)) return null\n',
    replacement: '',
    tests,
  },
  {
    title: 'embedded: an empty password is one, where a policy says so',
    file: 'src/domain/password.ts',
    text: 'Math.max(1, policy.minLength)',
    replacement: 'policy.minLength',
    tests,
  },
  {
    title: 'embedded: a token is requested for any purpose',
    file: 'src/application/accounts/request-token.ts',
    text: "    if (!isTokenPurpose(purpose)) throw new InvalidInput('purpose', 'must be reset_password or verify_email')\n",
    replacement: '',
    tests,
  },
]
