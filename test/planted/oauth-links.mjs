// What a link is worth, and how its tokens are kept and refreshed. See scripts/planted-faults.mjs.

const preHijack = ['test/oauth/pre-hijack.test.ts']
const vault = ['test/adapters/crypto/provider-vault.test.ts']
const atRestTests = ['test/oauth/at-rest.test.ts']
const reading = ['test/oauth/read-provider-token.test.ts']
const inMemory = 'with users in memory'

const inProofs = [
  [
    'unproved links outlive a reset',
    'src/application/accounts/reset-password.ts',
    'withProvedAccounts(fresh)',
    'fresh',
  ],
  [
    'a new address keeps the proof of the old one',
    'src/application/accounts/update-user.ts',
    'withDoubtedAccounts(user)',
    'user',
  ],
  [
    'vouching for another address proves this one',
    'src/application/oauth/link-account.ts',
    ' && emailKey(email) === emailKey(user.email)',
    '',
  ],
  [
    'a claim to the address proves it',
    'src/application/oauth/link-account.ts',
    'isEmailVerified && email !== null',
    'email !== null',
  ],
  [
    'a renewal proves the link',
    'src/application/oauth/link-account.ts',
    '(known?.isProved ?? user.isVerified)',
    'user.isVerified',
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

export default [...inProofs, ...inReading, ...atRest]
