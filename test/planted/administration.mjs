// Faults in the acts on the accounts of others. See scripts/planted-faults.mjs.

const create = 'src/application/administration/create-user.ts'
const sink = 'src/application/deliveries/handler-sink.ts'
const late = ['test/application/administration/invitation.test.ts']
const user = 'src/domain/user.ts'
const changes = 'src/application/accounts/account-changes.ts'
const deactivation = ['test/http/deactivation.test.ts']
const search = ['test/application/administration/search-users.test.ts']
const searchByHttp = ['test/http/user-search.test.ts']
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
    title: 'a login without the right searches users through a program',
    file: 'src/application/administration/search-users.ts',
    text: "requireRight(this.#needs, by, 'search_accounts', null)",
    replacement: '',
    tests: search,
  },
  {
    title: 'an unknown filter of a search is ignored, so other users are found',
    file: 'src/adapters/http/routers/user-search.ts',
    text: 'if (known === undefined)',
    replacement: 'if (known === undefined) continue\n    if (known === undefined)',
    tests: searchByHttp,
  },
  {
    title: 'a user whose address and user name begin alike is found twice',
    file: 'src/application/administration/search-users.ts',
    text: 'exceptPrefixes: prefixes.slice(0, at)',
    replacement: 'exceptPrefixes: []',
    tests: searchByHttp,
  },
  {
    title: 'a made-up cursor reaches a part of the search that does not exist',
    file: 'src/application/administration/search-users.ts',
    text: 'Number(part) < parts',
    replacement: 'true',
    tests: search,
  },
  {
    title: 'the cursor of another search is accepted',
    file: 'src/adapters/stores/user-search.ts',
    text: '!isValueOf(along, value)',
    replacement: 'false',
    tests: searchByHttp,
  },
  {
    title: 'the exact user in a search ignores the filters',
    file: 'src/application/administration/search-users.ts',
    text: 'meets(exact, filters) ? [exact] : []',
    replacement: '[exact]',
    tests: searchByHttp,
  },
  {
    title: 'a program passes an object for a time to the store',
    file: 'src/adapters/http/checked-admin.ts',
    text: 'if (value != null && !isTime)',
    replacement: 'if (false)',
    tests: search,
  },
  {
    title: 'a stranger calls the use cases of administration with a body that names an actor',
    file: 'src/adapters/http/checked-admin.ts',
    text: 'fields: objectOf({}), ...request }, requireActor)',
    replacement: 'fields: objectOf({}), ...request })',
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
    file: 'src/lib/rfc3339.ts',
    text: '(?:[Zz]|[+-](?:[01]\\d|2[0-3]):[0-5]\\d)$',
    replacement: '(?:[Zz]|[+-](?:[01]\\d|2[0-3]):[0-5]\\d)?$',
    tests: deactivation,
  },
  {
    title: 'a search does not see that a deactivation has ended',
    file: 'src/adapters/stores/present-users.ts',
    text: 'users.search({ ...criteria, now: clock() }',
    replacement: 'users.search(criteria',
    tests: deactivation,
  },
  {
    title: 'nobody learns that a superuser has read a user',
    file: 'src/adapters/http/routers/users.ts',
    text: 'await lookUpUser.execute({ by, target, ...request })',
    replacement: '',
    tests: searchByHttp,
  },
  {
    title: 'nobody learns that a superuser has read the details of a user',
    file: 'src/application/explain/read-details.ts',
    text: 'await reportLookup(needs, target, request, by)',
    replacement: '',
    tests: searchByHttp,
  },
  {
    title: 'a ban ends at the end of the deactivation before it',
    file: changes,
    text: 'changes.reason === undefined ? fresh.inactiveUntil : null',
    replacement: 'fresh.inactiveUntil',
    tests: deactivation,
  },
]
