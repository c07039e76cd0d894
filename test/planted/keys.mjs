// Faults in the pairs of keys that sign tokens. See scripts/planted-faults.mjs.

const folder = 'src/adapters/credentials/signing'
const attacks = ['test/adapters/credentials/signing/access-token.test.ts']
const keys = ['test/adapters/credentials/signing/signing-keys.test.ts']

export default [
  {
    title: 'the header of a token chooses the algorithm of a key',
    file: `${folder}/access-token.ts`,
    text: 'found === null || alg !== found.alg',
    replacement: 'found === null',
    tests: attacks,
  },
  {
    title: 'another kind of token passes for an access token',
    file: `${folder}/access-token.ts`,
    text: ' || type !== typ',
    replacement: '',
    tests: attacks,
  },
  {
    title: 'a token with unknown critical extensions is accepted',
    file: `${folder}/access-token.ts`,
    text: ' || crit !== undefined',
    replacement: '',
    tests: attacks,
  },
  {
    title: 'a token of HS256 is accepted under the name of a pair of keys',
    file: 'src/adapters/credentials/jwt.ts',
    text: 'header === null || header.kid === undefined',
    replacement: "header === null || header.kid === undefined || header.alg === 'HS256'",
    tests: attacks,
  },
  {
    title: 'a token that was read outlives its key',
    file: 'src/adapters/credentials/jwt.ts',
    text: 'signing?.keys.onRemoved(() => genuine.clear())',
    replacement: '',
    tests: attacks,
  },
  {
    title: 'each made-up name of a key reads the store',
    file: `${folder}/signing-keys.ts`,
    text: 'if (reading === null && Math.abs(now() - askedAt) < coolDownMs) return null',
    replacement: '',
    tests: keys,
  },
  {
    title: 'a new key signs before all caches have it',
    file: `${folder}/signing-keys.ts`,
    text: 'live.length === 0 ? at : at + leadSeconds * 1000',
    replacement: 'at',
    tests: keys,
  },
  {
    title: 'a former key is removed before its tokens end',
    file: `${folder}/key-set.ts`,
    text: 'lastSign + (key.tokenSeconds + cacheSeconds) * 1000',
    replacement: 'lastSign',
    tests: keys,
  },
  {
    title: 'a key of a former algorithm is removed before its last tokens end',
    file: `${folder}/key-set.ts`,
    text: ' || signerOf(stored, alg, now) === key)',
    replacement: ')',
    tests: keys,
  },
  {
    title: 'a tenant by header publishes keys that no verifier can read',
    file: 'src/config/settings/load-tenants.ts',
    text: "return common.tenants.by !== 'header' ||",
    replacement: 'return true ||',
    tests: ['test/config/settings/tenants.test.ts'],
  },
  {
    title: 'two tenants publish keys at one address',
    file: 'src/config/settings/tenants.ts',
    text: 'if (issuer !== null) add',
    replacement: 'if (issuer === id) add',
    tests: ['test/config/settings/tenants.test.ts'],
  },
  {
    title: 'a replaced secret leaves keys that nobody can open',
    file: 'src/config/composition/master-secret.ts',
    text: 'if ((await users.tenantTexts.read(keySetName)) !== null) await replaceText(users.tenantTexts, keySetName, noKeys)',
    replacement: '',
    tests: ['test/config/composition/master-secret.test.ts'],
  },
]
