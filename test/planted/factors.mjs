// Faults in second factors. See scripts/planted-faults.mjs.

const login = 'src/application/sign-in/complete-login.ts'
const challenges = 'src/application/factors/challenges.ts'
const use = 'src/application/factors/use-factor.ts'
const flow = ['test/http/second-factors.test.ts']

export default [
  {
    title: 'a login at any door needs no second factor',
    file: login,
    text: 'if (lacksFactor(user, { methods })) {',
    replacement: 'if (false as boolean) {',
    tests: ['test/http/second-factor-doors.test.ts'],
  },
  {
    title: 'a code of an authenticator app works twice',
    file: use,
    text: 'step === null || step <= totp.lastStep',
    replacement: 'step === null',
    tests: flow,
    only: 'take each code',
  },
  {
    title: 'a recovery code works twice',
    file: use,
    text: 'recovery.digests.filter((one) => one !== digest)',
    replacement: 'recovery.digests',
    tests: flow,
    only: 'take a recovery code once',
  },
  {
    title: 'a challenge counts at another backend',
    file: challenges,
    text: 'JSON.stringify([challenge, backend, browser])',
    replacement: 'JSON.stringify([challenge, browser])',
    tests: flow,
    only: 'the challenge of another backend',
  },
  {
    title: 'a challenge counts in another browser',
    file: challenges,
    text: 'JSON.stringify([challenge, backend, browser])',
    replacement: 'JSON.stringify([challenge, backend])',
    tests: flow,
    only: 'complete the login of each backend',
  },
  {
    title: 'a browser stays trusted after a logout everywhere',
    file: 'src/application/factors/trusted-browsers.ts',
    text: '[id, deviceId, sessions.generation, factors.totp?.addedAt]',
    replacement: '[id, deviceId, factors.totp?.addedAt]',
    tests: ['test/http/trusted-browsers.test.ts'],
    only: 'after a logout everywhere',
  },
  {
    title: 'an old login stops the reset of factors',
    file: 'src/application/rights.ts',
    text: "keep_factors: { own: ['second_factor']",
    replacement: 'keep_factors: { own: []',
    tests: ['test/application/rights.test.ts'],
    only: 'who has one needs a login with it',
  },
  {
    title: 'a reset of factors takes effect at once',
    file: 'src/domain/factors.ts',
    text: 'factors.resetAt !== null && factors.resetAt <= now.getTime()',
    replacement: 'factors.resetAt !== null && now.getTime() > 0',
    tests: ['test/http/factor-reset.test.ts'],
    only: 'after a day',
  },
  {
    title: 'a challenge takes any number of tries',
    file: challenges,
    text: 'held.tries + (isTry ? 1 : 0)',
    replacement: 'held.tries',
    tests: flow,
    only: 'after five wrong codes',
  },
  {
    title: 'a challenge survives a new password',
    file: challenges,
    text: 'user.sessions.generation === held.generation &&\n    user.passwordVersion === held.passwordVersion',
    replacement: 'held.generation !== -1',
    tests: flow,
    only: 'after a new password',
  },
  {
    title: 'a login without the factor removes it',
    file: 'src/application/rights.ts',
    text: "demanded.includes('second_factor') && lacksFactor(target, by.credential)",
    replacement: "demanded.includes('second_factor') && lacksFactor(target, by.credential) && by.user.isSuperuser",
    tests: ['test/application/rights.test.ts'],
    only: 'who has one needs a login with it',
  },
  {
    title: 'every login has shown the factor that one of them has added',
    file: 'src/application/factors/level.ts',
    text: 'factors.enrolledSid === sid &&',
    replacement: 'factors.enrolledSid !== undefined &&',
    tests: ['test/application/factors/level.test.ts'],
  },
  {
    title: 'every provider is trusted to have asked for two factors',
    file: 'src/application/oauth/finish-oauth.ts',
    text: "policy.trustsSecondFactor ? ['provider', twoFactors] : ['provider']",
    replacement: "['provider', twoFactors]",
    tests: ['test/http/second-factor-doors.test.ts'],
    only: 'gives no credential before',
  },
  {
    title: 'wrong codes of strangers are not counted',
    file: 'src/application/limits/counted-limits.ts',
    text: "[counterOf(this.#needs, 'factorsPerAccount', account), closing]",
    replacement: '[closing]',
    tests: ['test/application/limits/counted-limits.test.ts'],
    only: 'the wrong codes of strangers',
  },
]
