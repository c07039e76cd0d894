// Faults in fields of the deployer’s own. See scripts/planted-faults.mjs.

const tests = ['test/own-fields.full.test.ts']

export default [
  {
    title: 'a user writes own read-only fields',
    file: 'src/application/accounts/change-own-account.ts',
    text: 'input.changes.fields, doors.ownChange',
    replacement: 'input.changes.fields, doors.anyChange',
    tests,
  },
  {
    title: 'a registration writes read-only fields',
    file: 'src/application/accounts/register-user.ts',
    text: 'door = doors.registration',
    replacement: 'door = doors.creation',
    tests,
  },
  {
    title: 'a user reads own private fields',
    file: 'src/adapters/http/schemas.ts',
    text: '...(reader?.isSuperuser && user.fields.hidden)',
    replacement: '...user.fields.hidden',
    tests,
  },
  {
    title: 'a user of a program gains rights by a change of the own account',
    file: 'src/application/accounts/change-own-account.ts',
    text: 'const changes = { email, password }',
    replacement: 'const changes = input.changes',
    tests,
    only: 'use case of accounts',
  },
  {
    title: 'a user of a program changes another account',
    file: 'src/application/rights.ts',
    text: "if (demanded.includes('superuser') && !by.user.isSuperuser) throw",
    replacement: 'if (false) throw',
    tests,
    only: 'use case of accounts',
  },
  {
    title: 'the events of a change have private fields',
    file: 'src/application/accounts/account-changes.ts',
    text: 'return Object.fromEntries(shown.map((name) => [name, after.shown[name] ?? null]))',
    replacement: 'return { ...after.shown, ...after.hidden }',
    tests,
    only: 'in an event',
  },
  {
    title: 'the account page has private fields',
    file: 'src/adapters/http/pages/account/own-fields.ts',
    text: 'fields.filter(({ isPrivate }) => !isPrivate)',
    replacement: '[...fields]',
    tests: ['test/http/account-pages.test.ts'],
  },
  {
    title: 'a registration takes a box that is not ticked',
    file: 'src/domain/field.ts',
    text: 'if (value === false && field.mustBeTrue) {',
    replacement: 'if (false) {',
    tests: ['test/http/own-fields.test.ts'],
    only: 'boxes that are not ticked',
  },
  {
    title: 'a link of a title leads to a script',
    file: 'src/lib/linked-text.ts',
    text: "address.startsWith('https://') && URL.canParse(address)",
    replacement: 'URL.canParse(address)',
    tests: ['test/adapters/fields/declared-fields.test.ts'],
    only: 'a link to a script',
  },
]
