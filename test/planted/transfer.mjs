// Faults in the move from fastapi-users. See scripts/planted-faults.mjs.

const records = { tests: ['test/transfer/records.full.test.ts'], only: 'an import to sqlite' }
const former = { tests: ['test/http/former-tokens.test.ts'] }
const engine = 'src/application/transfer'
const tokens = 'src/adapters/credentials/former-tokens.ts'

export default [
  {
    title: 'a later import refuses users who have only logged in here',
    file: 'src/application/change-user.ts',
    text: 'const next = keepingImport(user, change.user)',
    replacement: 'const next = change.user',
    tests: ['test/transfer/records.full.test.ts'],
    only: 'after a login and a logout here',
  },
  {
    title: 'a later import replaces the hash that a login here has made',
    file: `${engine}/arrived-user.ts`,
    text: 'origin.hasHashes && !hasSameHash(record, existing)',
    replacement: 'origin.hasHashes',
    tests: ['test/transfer/records.full.test.ts'],
    only: 'after a login and a logout here',
  },
  {
    title: 'an import stores a hash that costs seconds',
    file: `${engine}/arrived-user.ts`,
    text: 'hash === null ? null : hashObjection(hash)',
    replacement: 'null',
    ...records,
  },
  {
    title: 'an import stores a second factor that nobody can use',
    file: `${engine}/arrived-user.ts`,
    text: 'if (origin.isSealedByOther && record.factors',
    replacement: 'if (origin.digest === null && record.factors',
    tests: ['test/transfer/records.full.test.ts'],
    only: 'another secret',
  },
  {
    title: 'an import leaves a second factor out',
    file: `${engine}/arrived-user.ts`,
    text: 'record.factors ?? existing?.factors ?? noFactors',
    replacement: 'noFactors',
    ...records,
  },
  {
    title: 'an import keeps reset tokens of an older password',
    file: `${engine}/arrived-user.ts`,
    text: 'existing.passwordVersion + 1',
    replacement: 'existing.passwordVersion',
    ...records,
  },
  {
    title: 'an import lets former credentials go on that the record has ended',
    file: `${engine}/arrived-user.ts`,
    text: 'record.former === null ? null : sessions.generation',
    replacement: 'sessions.generation',
    ...records,
  },
  {
    title: 'a later import undoes what a user has changed here',
    file: `${engine}/import-users.ts`,
    text: 'existing !== null && existing.imported?.version !== existing.version',
    replacement: 'existing === undefined',
    ...records,
  },
  {
    title: 'a later import brings an ended session back',
    file: `${engine}/import-users.ts`,
    text: 'if (!isNew && (await expiringMarks.has(mark))) continue',
    replacement: '',
    ...records,
  },
  {
    title: 'a later import brings a deleted user back',
    file: `${engine}/import-users.ts`,
    text: 'existing === null && origin.mayBeDeleted &&',
    replacement: 'existing === undefined &&',
    ...records,
  },
  {
    title: 'a session of the source is valid after a reset here',
    file: `${engine}/import-users.ts`,
    text: 'generation ?? user.imported?.generation ?? user.sessions.generation',
    replacement: 'generation ?? user.sessions.generation',
    ...records,
  },
  {
    title: 'a dry run writes users',
    file: `${engine}/import-users.ts`,
    text: 'isRehearsal ? rehearsalOf(this.#needs.target) : this.#needs.target',
    replacement: 'this.#needs.target',
    ...records,
  },
  {
    title: 'a former login goes on after a new password',
    file: 'src/domain/user.ts',
    text: 'if (credential.generation === null) return isAsImported(user)',
    replacement: 'if (credential.generation === null && isAsImported(user)) return true',
    tests: ['test/domain/user.test.ts'],
  },
  {
    title: 'the former secret makes logins of users who were made here',
    file: 'src/domain/user.ts',
    text: 'return isActive && imported?.generation === sessions.generation',
    replacement: 'return isActive && sessions !== imported',
    ...former,
  },
  {
    title: 'the former secret counts after its day',
    file: tokens,
    text: ' || now >= (until() ?? now)',
    replacement: '',
    ...former,
  },
  {
    title: 'each start moves the day on which former logins end',
    file: 'src/application/sign-in/former-start.ts',
    text: 'exchange(firstDay, null,',
    replacement: 'exchange(firstDay, await texts.read(firstDay),',
    ...former,
  },
  {
    title: 'a former link works after the end of all logins',
    file: 'src/application/one-time-tokens/former-token.ts',
    text: '|| !isAsImported(user) ',
    replacement: '',
    ...former,
  },
  {
    title: 'a former JWT needs no end',
    file: tokens,
    text: 'if (exp === undefined) return null',
    replacement: 'if (exp === undefined) return { claims: payload, expiresAt: until }',
    ...former,
  },
]
