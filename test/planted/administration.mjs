// Faults in the acts on the accounts of others. See scripts/planted-faults.mjs.

const create = 'src/application/administration/create-user.ts'
const sink = 'src/application/deliveries/handler-sink.ts'
const late = ['test/application/administration/invitation.test.ts']
const user = 'src/domain/user.ts'
const changes = 'src/application/accounts/account-changes.ts'
const deactivation = ['test/http/deactivation.test.ts']
const http = ['test/http/created-users.test.ts']

export default [
  {
    title: 'a superuser who has lost the right creates a user',
    file: create,
    text: 'beforeWrite: () => this.#requireStill(by),',
    replacement: '',
    tests: ['test/application/administration/create-user.test.ts'],
  },
  {
    title: 'a new user has a password of the superuser and an invitation',
    file: create,
    text: 'if (invite && password !== undefined)',
    replacement: 'if (false)',
    tests: http,
  },
  {
    title: 'a misspelt flag of a new user is dropped',
    file: create,
    text: 'refusesUnknown: true',
    replacement: 'refusesUnknown: false',
    tests: http,
  },
  {
    title: 'a user with a password is invited',
    file: 'src/application/administration/invite-user.ts',
    text: 'if (!isInvitable(user))',
    replacement: 'if (false)',
    tests: http,
  },
  {
    title: 'an invitation leads a former address to the account',
    file: sink,
    text: ' || emailKey(user.email) !== emailKey(email)',
    replacement: '',
    tests: late,
  },
  {
    title: 'an invitation is delivered for ever',
    file: sink,
    text: 'if (hasExpired({ at }, inviteSeconds, clock())) return null',
    replacement: '',
    tests: late,
  },
  {
    title: 'a reset verifies the address, though the link may come from an operator',
    file: 'src/application/one-time-tokens/reset-password.ts',
    text: "token.purpose === 'invite'",
    replacement: 'true',
    tests: http,
  },
  {
    title: 'a user who is not active accepts an invitation',
    file: 'src/application/one-time-tokens/former-token.ts',
    text: 'return found?.user.isActive ? found : null',
    replacement: 'return found',
    tests: http,
  },
  {
    title: 'a stranger calls the use cases of administration with a body that names an actor',
    file: 'src/adapters/http/checked-admin.ts',
    text: '...request }, requireActor)',
    replacement: '...request })',
    tests: ['test/adapters/http/checked-admin.test.ts'],
  },
  {
    title: 'a deactivation ends only when somebody writes the user',
    file: user,
    text: '!user.isActive && isActiveAt(user, now) ?',
    replacement: 'false ?',
    tests: deactivation,
  },
  {
    title: 'a deactivation by an older store, which knows no end, ends at once',
    file: user,
    text: 'inactiveUntil !== null && inactiveUntil <= now',
    replacement: 'inactiveUntil !== null && !(inactiveUntil > now)',
    tests: ['test/domain/deactivation.test.ts'],
  },
  {
    title: 'an activation leaves the end of the former deactivation',
    file: changes,
    text: 'if (user.isActive) user = activated(user)',
    replacement: 'if (user.isActive) user = { ...user }',
    tests: deactivation,
  },
  {
    title: 'a deactivation may end in the past',
    file: changes,
    text: 'until > now && ',
    replacement: '',
    tests: deactivation,
  },
  {
    title: 'a reason without a deactivation is dropped',
    file: changes,
    text: 'value !== undefined && isActive !== false',
    replacement: 'value !== undefined && false',
    tests: deactivation,
  },
  {
    title: 'a reason has any length',
    file: changes,
    text: 'reason.length > maxReasonLength || ',
    replacement: '',
    tests: deactivation,
  },
  {
    title: 'a reason has a NUL, which PostgreSQL refuses',
    file: changes,
    text: " || reason.includes('\\0')",
    replacement: '',
    tests: deactivation,
  },
  {
    title: 'a time without a zone is one of the zone of the server',
    file: 'src/adapters/http/pipeline/validate.ts',
    text: '(?:[Zz]|[+-]\\d{2}:\\d{2})$',
    replacement: '(?:[Zz]|[+-]\\d{2}:\\d{2})?$',
    tests: deactivation,
  },
  {
    title: 'a search does not see that a deactivation has ended',
    file: 'src/adapters/stores/present-users.ts',
    text: 'users.search({ ...criteria, now: clock() }',
    replacement: 'users.search(criteria',
    tests: deactivation,
  },
]
