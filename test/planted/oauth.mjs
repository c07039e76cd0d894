// Faults in signing in through providers. See scripts/planted-faults.mjs.

export default [
  {
    title: 'a callback is accepted in a browser without the cookie',
    file: 'src/application/oauth/redeem-return.ts',
    text: `browser !== null &&
    keyRing.digest(browser) === begun.browserDigest`,
    replacement: '(browser === null || keyRing.digest(browser) === begun.browserDigest)',
    tests: ['test/oauth/attacks.full.test.ts'],
    only: 'a state kept on SQLite is',
  },
  {
    title: 'a callback is accepted with the cookie of another journey',
    file: 'src/application/oauth/redeem-return.ts',
    text: 'keyRing.digest(browser) === begun.browserDigest',
    replacement: 'true',
    tests: ['test/oauth/attacks.full.test.ts'],
    only: 'a state kept on SQLite is',
  },
  {
    title: 'pages of other sites begin journeys',
    file: 'src/adapters/http/oauth/journey.ts',
    text: 'ownOriginsOnly: true,',
    replacement: '',
    tests: ['test/oauth/sign-in.test.ts'],
    only: 'is refused to other sites',
  },
  {
    title: 'a state is accepted at another provider',
    file: 'src/application/oauth/redeem-return.ts',
    text: 'begun.provider === provider.name',
    replacement: 'true',
    tests: ['test/oauth/attacks.full.test.ts'],
    only: 'a state kept on SQLite is',
  },
  {
    title: 'a state for signing in links an account',
    file: 'src/application/oauth/redeem-return.ts',
    text: `begun.flow === (by === null ? 'login' : 'link') &&
    begun.userId === (by?.user.id ?? null) &&
    begun.credentialId === (by?.credential.id ?? null) &&`,
    replacement: '',
    tests: ['test/oauth/attacks.full.test.ts'],
    only: 'a state kept on SQLite is',
  },
  {
    title: 'a state of one user links to another user',
    file: 'src/application/oauth/redeem-return.ts',
    text: `begun.userId === (by?.user.id ?? null) &&
    begun.credentialId === (by?.credential.id ?? null) &&`,
    replacement: '',
    tests: ['test/oauth/attacks.full.test.ts'],
    only: 'a state kept on SQLite is',
  },
  {
    title: 'the code is redeemed without a PKCE verifier',
    file: 'src/adapters/oauth/oauth2.ts',
    text: 'hasPkce && { code_verifier: codeVerifier }',
    replacement: 'false',
    tests: ['test/oauth/codes.full.test.ts'],
  },
  {
    title: 'accounts are associated by address without the setting',
    file: 'src/application/oauth/finish-oauth.ts',
    text: 'policy.associateByEmail && identity',
    replacement: 'identity',
    tests: ['test/oauth/sign-in.test.ts'],
  },
  {
    title: 'accounts are associated by an address that the provider has not verified',
    file: 'src/application/oauth/finish-oauth.ts',
    text: 'identity.isEmailVerified && fresh.isVerified',
    replacement: 'fresh.isVerified',
    tests: ['test/oauth/sign-in.test.ts'],
  },
  {
    title: 'accounts are associated with a user whose address is not verified',
    file: 'src/application/oauth/finish-oauth.ts',
    text: 'identity.isEmailVerified && fresh.isVerified',
    replacement: 'identity.isEmailVerified',
    tests: ['test/oauth/pre-hijack.test.ts'],
  },
  {
    title: 'an address counts as verified without the word of the provider',
    file: 'src/application/oauth/finish-oauth.ts',
    text: 'policy.verifiedByDefault && identity.isEmailVerified',
    replacement: 'policy.verifiedByDefault',
    tests: ['test/oauth/sign-in.test.ts'],
  },
  {
    title: 'a session that has ended links an account',
    file: 'src/application/oauth/link-oauth.ts',
    text: 'if (!(await speaksFor(fresh, by)))',
    replacement: 'if (by.user.id === null)',
    tests: ['test/oauth/associate.test.ts'],
  },
  {
    title: 'the last way to log in is unlinked',
    file: 'src/application/oauth/unlink-oauth.ts',
    text: 'if (!canLogIn)',
    replacement: 'if (fresh.id === null)',
    tests: ['test/oauth/associate.test.ts'],
  },
  {
    title: 'a link that nobody proved survives a reset',
    file: 'src/application/one-time-tokens/reset-password.ts',
    text: 'withVouchedAccounts(fresh)',
    replacement: '{ user: fresh, dropped: [] }',
    tests: ['test/oauth/pre-hijack.test.ts'],
    only: 'off',
  },
  {
    title: 'tokens of providers are stored in plain text',
    file: 'src/application/oauth/sealed-account.ts',
    text: 'sealedAccessToken: vault.seal(accessToken, userId, provider)',
    replacement: 'sealedAccessToken: accessToken',
    tests: ['test/oauth/at-rest.full.test.ts'],
    only: 'on SQLite',
  },
  {
    title: 'a sealed token of one user opens for another',
    file: 'src/adapters/crypto/provider-vault.ts',
    text: 'binding = (userId: string, provider: string)',
    replacement: "binding = (_: string, provider: string, userId = '')",
    tests: ['test/adapters/crypto/provider-vault.test.ts'],
  },
  {
    title: 'an ID token of another issuer is accepted',
    file: 'src/adapters/oauth/openid-connect.ts',
    text: `        demandIssuer(config, iss)
`,
    replacement: '',
    tests: ['test/oauth/codes.full.test.ts'],
  },
  {
    title: 'an ID token for another client is accepted',
    file: 'src/adapters/oauth/openid-connect.ts',
    text: `          demandParty(idToken, client.clientId)
`,
    replacement: '',
    tests: ['test/adapters/oauth/openid-connect.full.test.ts'],
  },
]
