// Guards of journeys to providers, of linking and unlinking. See scripts/planted-faults.mjs.

const signIn = ['test/oauth/sign-in.test.ts']
const associate = ['test/oauth/associate.test.ts']
const attacks = ['test/oauth/attacks.test.ts']
const preHijack = ['test/oauth/pre-hijack.test.ts']
const finish = ['test/application/finish-oauth.test.ts']
const onSqlite = 'a state kept on SQLite is'

const inJourney = [
  [
    'a state in a browser without its cookie',
    "typeof browser === 'string' &&\n    keyRing.digest(browser) === begun.browserDigest",
    '(browser === null || keyRing.digest(browser) === begun.browserDigest)',
  ],
  ['a state with the cookie of another', 'keyRing.digest(browser) === begun.browserDigest', 'true'],
  ['a state at another provider', 'begun.provider === claim.provider.name', 'true'],
  // The flow alone says what the user says as well: nobody links without one.
  ['a state for the other flow', 'begun.flow === claim.flow &&\n    begun.userId === claim.userId &&', ''],
  ['a state for another user', 'begun.userId === claim.userId', 'true'],
].map(([title, text, replacement]) => ({
  title,
  file: 'src/application/oauth/redeem-return.ts',
  text,
  replacement,
  tests: attacks,
  only: onSqlite,
}))

const inStart = [
  [
    'one verifier for all',
    '[newToken(), newToken(), newToken(), newToken()]',
    "[newToken(), newToken(), 'A'.repeat(43), newToken()]",
  ],
  [
    'one cookie value for all',
    '[newToken(), newToken(), newToken(), newToken()]',
    "[newToken(), 'A'.repeat(43), newToken(), newToken()]",
  ],
  ['any scope', 'if (!scopes.every((scope) => provider.scopes.includes(scope)))', 'if (scopes.length > 99)'],
].map(([title, text, replacement]) => ({
  title,
  file: 'src/application/oauth/start-oauth.ts',
  text,
  replacement,
  tests: signIn,
}))

const inFinish = [
  ['association that nobody switched on', 'policy.associateByEmail && identity', 'identity', signIn],
  ['association without vouching', 'identity.isEmailVerified && fresh.isVerified', 'fresh.isVerified', signIn],
  [
    'association with an unverified user',
    'identity.isEmailVerified && fresh.isVerified',
    'identity.isEmailVerified',
    preHijack,
  ],
  [
    'association with an address that has changed',
    'isProved && emailKey(fresh.email) === emailKey(email)',
    'isProved',
    finish,
  ],
  [
    'a login that was faster is somebody else',
    'const isLinked = accountOf(fresh, provider, identity.accountId) !== null',
    'const isLinked = false',
    finish,
  ],
  ['a lost race is not judged anew', "return outcome === 'stored' ? user : null", 'return user', finish],
  [
    'verified without vouching',
    'policy.verifiedByDefault && identity.isEmailVerified',
    'policy.verifiedByDefault',
    signIn,
  ],
  [
    'verified though nobody said so',
    'policy.verifiedByDefault && identity.isEmailVerified',
    'identity.isEmailVerified',
    signIn,
  ],
  [
    'unverified where verified users are wanted',
    '(policy.requiresVerification || backend.requiresVerification)',
    'backend.requiresVerification',
    signIn,
  ],
  [
    'unverified where the backend wants verified users',
    '(policy.requiresVerification || backend.requiresVerification)',
    'policy.requiresVerification',
    signIn,
  ],
  ['nobody told of a registration', "[happened('registered', user, occasion(this.#needs, requestId))]", '[]', signIn],
  [
    "a provider's token that is not renewed",
    'user: withAccount(fresh, account), events: [] }\n    })\n    if',
    'user: fresh, events: [] }\n    })\n    if',
    signIn,
  ],
].map(([title, text, replacement, tests]) => ({
  title,
  file: 'src/application/oauth/finish-oauth.ts',
  text,
  replacement,
  tests,
}))

const inLinking = [
  [
    'a link for who has logged out',
    'src/application/oauth/link-oauth.ts',
    'if (!isAlive(fresh, by.credential))',
    'if (by.user.id === null)',
  ],
  [
    'a link without an address',
    'src/application/oauth/link-oauth.ts',
    'if (identity.email === null)',
    'if (identity.accountId === null)',
  ],
  [
    'the last way to log in is unlinked',
    'src/application/oauth/unlink-oauth.ts',
    'if (!canLogIn)',
    'if (fresh.id === null)',
  ],
  [
    'a provider that is off counts as a way to log in',
    'src/application/oauth/unlink-oauth.ts',
    'others.some((one) => providerNames.has(one.provider))',
    'others.length > 0',
  ],
  [
    'unlinked at another provider',
    'src/application/oauth/unlink-oauth.ts',
    'one.id === id && one.provider === provider',
    'one.id === id',
  ],
  [
    'tokens in the list of accounts',
    'src/adapters/http/routers/users.ts',
    'by.user.oauthAccounts.map(accountBody)',
    'by.user.oauthAccounts.map((one) => ({ ...accountBody(one), access_token: one.sealedAccessToken }))',
  ],
  [
    'a posted callback that is posted again',
    'src/adapters/http/oauth/journey.ts',
    'return seeOther(',
    'const posted = (to) => ({ ...seeOther(to), status: 307 }); return posted(',
  ],
].map(([title, file, text, replacement]) => ({ title, file, text, replacement, tests: associate }))

export default [...inJourney, ...inStart, ...inFinish, ...inLinking]
