// Guards where browsers and providers are met. See scripts/planted-faults.mjs.

const signIn = ['test/oauth/sign-in.test.ts']
const attacks = ['test/oauth/attacks.test.ts']
const codes = ['test/oauth/codes.test.ts']
const presets = ['test/adapters/oauth/presets.test.ts']
const openIdPresets = ['test/adapters/oauth/openid-presets.test.ts']
const onSqlite = 'a state kept on SQLite is'

const inHttp = [
  [
    'parameters that are there twice',
    'src/adapters/http/oauth/journey.ts',
    'values.length === 1 ? values[0] || null : null',
    'values[0] || null',
    attacks,
    onSqlite,
  ],
  [
    'two issuers',
    'src/adapters/http/oauth/journey.ts',
    "query.getAll('iss').length > 1 ? null : only('code')",
    "only('code')",
    codes,
  ],
  [
    'an error that is ignored',
    'src/adapters/http/oauth/journey.ts',
    "error: query.get('error')",
    'error: null',
    signIn,
  ],
  [
    "the journey's cookie stays",
    'src/adapters/http/oauth/journey.ts',
    '[...(reply.cookies ?? []), ...ended]',
    '[...(reply.cookies ?? [])]',
    signIn,
  ],
  [
    'a redirect that loses the session',
    'src/adapters/http/oauth/journey.ts',
    'cookies: reply.cookies ?? []',
    'cookies: []',
    signIn,
  ],
  [
    'a redirect that loses the token',
    'src/adapters/http/routers/oauth.ts',
    'backend.transport.isAmbient ? redirects.success : undefined',
    'redirects.success',
    signIn,
  ],
  [
    'a cookie that scripts read',
    'src/adapters/http/oauth/journey-cookie.ts',
    'httpOnly: true',
    'httpOnly: false',
    signIn,
  ],
  [
    'a cookie that other sites send',
    'src/adapters/http/oauth/journey-cookie.ts',
    "sameSite: 'lax'",
    "sameSite: 'none'",
    signIn,
  ],
  ['a cookie that other hosts may set', 'src/adapters/http/oauth/journey-cookie.ts', "'__Host-'", "''", signIn],
  [
    'cookies without end',
    'src/adapters/http/oauth/journey-cookie.ts',
    'const maxJourneys = 8',
    'const maxJourneys = 800',
    attacks,
    onSqlite,
  ],
  [
    'one cookie for all tabs',
    'src/adapters/http/oauth/journey-cookie.ts',
    'state.slice(0, 16)',
    "'0123456789abcdef'",
    attacks,
    onSqlite,
  ],
  [
    'a planted cookie beside ours',
    'src/adapters/http/transports/cookie-header.ts',
    'values.length === 1',
    'values.length > 0',
    attacks,
    onSqlite,
  ],
  [
    'HEAD runs GET',
    'src/adapters/http/pipeline/route-table.ts',
    "ctx.req.method === 'HEAD'",
    "ctx.req.method === 'TRACE'",
    attacks,
    onSqlite,
  ],
].map(([title, file, text, replacement, tests, only]) => ({
  title,
  file,
  text,
  replacement,
  tests,
  ...(only && { only }),
}))

const inProviders = [
  [
    'another issuer, by OAuth 2.0',
    'src/adapters/oauth/oauth2.ts',
    'iss !== null && issuer !== undefined && iss !== issuer',
    'iss === undefined',
    codes,
  ],
  [
    'another issuer, by OpenID Connect',
    'src/adapters/oauth/openid-connect.ts',
    '        demandIssuer(config, iss)\n',
    '',
    codes,
  ],
  [
    'no challenge',
    'src/adapters/oauth/oauth2.ts',
    "...(hasPkce && { code_challenge: s256(codeVerifier), code_challenge_method: 'S256' }),",
    '',
    signIn,
  ],
  [
    'a plain challenge',
    'src/adapters/oauth/oauth2.ts',
    'code_challenge: s256(codeVerifier)',
    'code_challenge: codeVerifier',
    codes,
  ],
  ['no verifier', 'src/adapters/oauth/oauth2.ts', 'hasPkce && { code_verifier: codeVerifier }', 'false', codes],
  [
    'vouching by any word',
    'src/adapters/oauth/identity.ts',
    'claims.emailVerified === true',
    'Boolean(claims.emailVerified)',
    signIn,
  ],
  [
    'an account without a name',
    'src/adapters/oauth/identity.ts',
    "value.trim() === ''",
    "value === '?'",
    ['test/oauth/faults.test.ts', 'test/oauth/fuzz.test.ts'],
  ],
  [
    'an account with an odd name',
    'src/adapters/oauth/identity.ts',
    '/\\p{Cc}/u.test(value) || isMangled(value)',
    'false',
    ['test/oauth/faults.test.ts', 'test/oauth/fuzz.test.ts'],
  ],
  [
    'what Shopify did not sign',
    'src/adapters/oauth/presets/shopify.ts',
    'timingSafeEqual(given, expected)',
    'given !== expected',
    presets,
  ],
  ['another shop', 'src/adapters/oauth/presets/shopify.ts', " && signed.get('shop') === host", '', presets],
  ['what is there twice', 'src/adapters/oauth/presets/shopify.ts', 'signed.size === all.length && ', '', presets],
  [
    'a signature that is not asked for',
    'src/adapters/oauth/oauth2.ts',
    'definition.isSigned?.(back) === false',
    'back.iss === undefined',
    presets,
  ],
  [
    'a key of another tenant',
    'src/adapters/oauth/openid-connect.ts',
    'if (isForMany) demandKeyOfIssuer(',
    'if (false) demandKeyOfIssuer(',
    openIdPresets,
  ],
  [
    'one name in two tenants',
    'src/adapters/oauth/openid-connect.ts',
    'const accountId = accountInTenant(idToken)',
    'const accountId = idToken.sub',
    openIdPresets,
  ],
  ['a tenant that is none', 'src/adapters/oauth/many-issuers.ts', ' || !guid.test(tenant)', '', openIdPresets],
  [
    'an ID token for another client',
    'src/adapters/oauth/openid-connect.ts',
    '          demandOurs(idToken)\n',
    '',
    ['test/adapters/oauth/openid-connect.test.ts'],
  ],
  [
    'a provider that is busy',
    'src/adapters/oauth/identity.ts',
    ' && status !== 408 && status !== 425 && status !== 429',
    '',
    ['test/oauth/faults.test.ts'],
  ],
  [
    'a token that is none',
    'src/adapters/oauth/identity.ts',
    'value.length <= maxTokenLength && /^[ -~]+$/.test(value)',
    "value !== ''",
    ['test/adapters/oauth/oauth2.test.ts'],
  ],
  [
    'a provider that is waited for',
    'src/adapters/oauth/outbound.ts',
    'totalMs: 5000',
    'totalMs: 9000',
    ['test/oauth/faults.test.ts'],
  ],
].map(([title, file, text, replacement, tests]) => ({ title, file, text, replacement, tests }))

export default [...inHttp, ...inProviders]
