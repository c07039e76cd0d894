// What a link is worth, and how its tokens are kept and refreshed. See scripts/planted-faults.mjs.

const preHijack = ['test/oauth/pre-hijack.test.ts']
const vault = ['test/adapters/crypto/provider-vault.test.ts']
const atRestTests = ['test/oauth/at-rest.test.ts']
const reading = ['test/oauth/read-provider-token.test.ts']
const inMemory = 'with users in memory'

const inProofs = [
  [
    'links that are not vouched for outlive a reset',
    'src/application/accounts/reset-password.ts',
    'withVouchedAccounts(fresh)',
    '{ user: fresh, dropped: [] }',
  ],
  [
    'vouching for another address counts for this one',
    'src/domain/oauth-account.ts',
    ' && emailKey(vouchedEmail) === emailKey(user.email)',
    '',
  ],
  [
    'a claim to the address is as good as vouching',
    'src/application/oauth/link-account.ts',
    'isEmailVerified ? email : null',
    'email',
  ],
].map(([title, file, text, replacement]) => ({ title, file, text, replacement, tests: preHijack, only: 'off' }))

const inReading = [
  ['everybody refreshes', 'const until = await this.#claim(userId, account)', 'const until = new Date()'],
  [
    'a claim that nobody minds',
    'account.refreshingUntil !== null && account.refreshingUntil > now',
    'account.refreshingUntil === undefined',
  ],
  [
    'a claim that ends never',
    'account.refreshingUntil !== null && account.refreshingUntil > now',
    'account.refreshingUntil !== null',
  ],
  ['a claim that lasts too long', 'const claimSeconds = 10', 'const claimSeconds = 100'],
  ['waiting too long', 'const waitSeconds = 5', 'const waitSeconds = 500'],
  ['a token that dies on the way', 'const leastLifeSeconds = 60', 'const leastLifeSeconds = 0'],
  [
    'a failed refresh erases the token',
    'account, { refreshingUntil: null })',
    'account, { refreshingUntil: null, sealedRefreshToken: null })',
  ],
  ['a failed refresh keeps its claim', '      await this.#write(userId, account, { refreshingUntil: null })\n', ''],
  [
    'a refresh that comes late wins',
    "if (account === null || account.sealedAccessToken !== wanted.sealedAccessToken) return { type: 'keep' }\n      return",
    "if (account === null) return { type: 'keep' }\n      return",
  ],
].map(([title, text, replacement]) => ({
  title,
  file: 'src/application/oauth/read-provider-token.ts',
  text,
  replacement,
  tests: reading,
  only: inMemory,
}))

const atRest = [
  {
    title: 'tokens are stored as they are',
    file: 'src/application/oauth/link-account.ts',
    text: 'sealedAccessToken: vault.seal(accessToken, userId, provider)',
    replacement: 'sealedAccessToken: accessToken',
    tests: atRestTests,
    only: 'on SQLite',
  },
  {
    title: 'states and cookies are stored as they are',
    file: 'src/adapters/crypto/derived-keys.ts',
    text: "return hash('sha256', token, 'base64url')",
    replacement: 'return token',
    tests: atRestTests,
    only: 'on SQLite',
  },
  {
    title: 'tokens are sealed for anybody',
    file: 'src/adapters/crypto/provider-vault.ts',
    text: 'binding = (userId: string, provider: string)',
    replacement: "binding = (_: string, provider: string, userId = '')",
    tests: vault,
  },
  {
    title: 'tokens are sealed for any provider',
    file: 'src/adapters/crypto/provider-vault.ts',
    text: 'binding = (userId: string, provider: string)',
    replacement: "binding = (userId: string, _: string, provider = '')",
    tests: vault,
  },
]

const takeOver = ['test/oauth/take-over.test.ts']
const inTakeOver = [
  ['nobody takes an account over', 'src/application/oauth/finish-oauth.ts', '!fresh.isOwnerProved && ', 'false && '],
  [
    'any sign-in takes an account over',
    'src/application/oauth/finish-oauth.ts',
    ' && isVouchedFor(account, fresh)',
    '',
  ],
  [
    'the owner takes an own account over again',
    'src/application/oauth/take-over.ts',
    'isOwnerProved: true',
    'isOwnerProved: false',
  ],
  [
    'a password outlives a take-over',
    'src/application/oauth/take-over.ts',
    'hadPassword ? withoutPassword(vouched) : vouched',
    'vouched',
  ],
  ['sessions outlive a take-over', 'src/application/oauth/take-over.ts', 'endSessions(', '((one, _) => one)('],
  [
    'a take-over without a password drops no link',
    'src/application/oauth/take-over.ts',
    '!hadPassword && dropped.length === 0',
    '!hadPassword',
  ],
  [
    'a new address keeps the mark of the old one',
    'src/application/accounts/update-user.ts',
    'isVerified: false, isOwnerProved: false',
    'isVerified: false',
  ],
  [
    'any new password counts as the owner’s',
    'src/application/accounts/update-user.ts',
    'user.isOwnerProved || user.isVerified',
    'true',
  ],
  [
    'no new password counts as the owner’s',
    'src/application/accounts/update-user.ts',
    'user.isOwnerProved || user.isVerified',
    'user.isOwnerProved',
  ],
  ['a reset leaves the account nobody’s', 'src/application/accounts/reset-password.ts', ', isOwnerProved: true', ''],
  [
    'a verification without a session counts',
    'src/application/accounts/verify-user.ts',
    'fresh.isOwnerProved || isWithinSession',
    'true',
  ],
  [
    'a verification within a session does not count',
    'src/application/accounts/verify-user.ts',
    'fresh.isOwnerProved || isWithinSession',
    'fresh.isOwnerProved',
  ],
  [
    'a verification within the session of another counts',
    'src/application/accounts/verify-user.ts',
    'by.user.id === fresh.id && ',
    '',
  ],
].map(([title, file, text, replacement]) => ({ title, file, text, replacement, tests: takeOver }))

const stale = ['test/oauth/stale-sessions.test.ts']
const users = ['test/http/users.test.ts']
const verifying = ['test/http/verify.test.ts']
const inSessions = [
  ['an old login links', 'src/application/oauth/start-oauth.ts', 'requireFreshLogin(this.#needs, by)', '', stale],
  ['an old login unlinks', 'src/application/oauth/unlink-oauth.ts', 'requireFreshLogin(this.#needs, by)', '', stale],
  [
    'another login ends the journey',
    'src/application/oauth/redeem-return.ts',
    'begun.credentialId === (claim.by?.credential.id ?? null) &&',
    '',
    stale,
  ],
  [
    'a link is told at each sign-in',
    'src/application/oauth/link-oauth.ts',
    'accountOf(fresh, name, identity.accountId) === null',
    'true',
    stale,
  ],
  ['an old login deletes', 'src/application/accounts/delete-user.ts', 'requireFreshLogin(this.#needs, by)', '', users],
  [
    'an old login of a superuser changes others',
    'src/application/accounts/update-user.ts',
    'if (currentPassword === undefined) requireFreshLogin(this.#needs, by)',
    '',
    users,
  ],
  [
    'an old login changes its own account',
    'src/application/accounts/update-user.ts',
    'if (givesAccess && currentPassword === undefined) requireFreshLogin(this.#needs, by)',
    '',
    users,
  ],
  [
    'a verification that needs a session takes any',
    'src/application/accounts/verify-user.ts',
    'if (requiresSession && !isWithinSession)',
    'if (false)',
    verifying,
  ],
  [
    'a verification takes a session that has ended meanwhile',
    'src/application/accounts/verify-user.ts',
    ' && (await speaksFor(fresh, by))',
    '',
    ['test/application/verify-user.test.ts'],
  ],
  [
    'a verification needs no session',
    'src/application/accounts/verify-user.ts',
    'by !== null || requiresSession',
    'by !== null',
    ['test/application/untrusted-callers.test.ts'],
  ],
].map(([title, file, text, replacement, tests]) => ({ title, file, text, replacement, tests }))

export default [...inTakeOver, ...inSessions, ...inProofs, ...inReading, ...atRest]
