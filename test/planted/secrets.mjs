// Faults in a change of the secret. See scripts/planted-faults.mjs.

const rotation = 'src/application/secrets/reseal-everything.ts'
const rotations = ['test/config/composition/rotate-secret.test.ts']
const services = ['test/http/secrets.test.ts']

export default [
  {
    title: 'the users are bound to a new secret before their tokens are sealed with it',
    file: rotation,
    text: '    await this.#resealSigningKeys()\n    let known = text',
    replacement:
      "    if (bound !== null) await tenantTexts.exchange('secret', bound, to)\n    await this.#resealSigningKeys()\n    let known = text",
    tests: rotations,
  },
  {
    title: 'signing keys stay sealed with the former secret',
    file: rotation,
    text: '    await this.#resealSigningKeys()\n    let known = text',
    replacement: '    let known = text',
    tests: rotations,
  },
  {
    title: 'a repetition prolongs the time of the former secret',
    file: rotation,
    text: 'doneAt: wasUnused ?? clock().toISOString()',
    replacement: 'doneAt: clock().toISOString()',
    tests: rotations,
  },
  {
    title: 'a secret that provider tokens or second factors need counts as unused',
    file: 'src/application/secrets/needs-of-former.ts',
    text: 'if (needsSecret(user, need.opener)) need.users++',
    replacement: 'need.users += 0',
    tests: rotations,
  },
  {
    title: 'a provider token changes while a caller refreshes it',
    file: 'src/application/secrets/reseal-user.ts',
    text: "former.some(({ refreshingUntil }) => (refreshingUntil ?? now) > now) ? 'busy' : 'resealed'",
    replacement: "'resealed'",
    tests: rotations,
  },
  {
    title: 'a link in a mail ends with the secret',
    file: 'src/adapters/crypto/derived-keys.ts',
    text: 'const candidates = tokenKeys[purpose].map(',
    replacement: 'const candidates = tokenKeys[purpose].slice(0, 1).map(',
    tests: ['test/adapters/crypto/several-secrets.test.ts'],
  },
  {
    title: 'a new secret gives every limit a fresh budget',
    file: 'src/adapters/crypto/derived-keys.ts',
    text: 'return counterKeys.map(',
    replacement: 'return counterKeys.slice(0, 1).map(',
    tests: services,
  },
  {
    title: 'a new secret makes strangers of known browsers',
    file: 'src/config/composition/ports.ts',
    text: ', keyRing.former.deviceTokenKeys',
    replacement: '',
    tests: services,
  },
  {
    title: 'a start with another secret is accepted while there are former ones',
    file: 'src/config/composition/master-secret.ts',
    text: 'if (bound !== null && formerMarksOf(master, tenant).includes(bound)) return',
    replacement: 'if (bound !== null) return',
    tests: [...services, 'test/config/composition/master-secret.test.ts'],
  },
]
