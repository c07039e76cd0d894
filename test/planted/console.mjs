// Faults in the console and in what it demands of superusers. See scripts/planted-faults.mjs.

const rules = 'src/adapters/http/admin/administration.ts'
const tests = ['test/http/console.test.ts']

export default [
  {
    title: 'the console is at every port',
    file: rules,
    text: '(port === null || request.socket.localPort === port) && isAdmitted(request)',
    replacement: 'isAdmitted(request)',
    tests,
    only: 'a port of its own',
  },
  {
    title: 'the console is there for every network',
    file: rules,
    text: '(port === null || request.socket.localPort === port) && isAdmitted(request)',
    replacement: 'port === null || request.socket.localPort === port',
    tests,
    only: 'that of admin.allow',
  },
  {
    title: 'superusers act from every network',
    file: rules,
    text: "if (!isAdmitted(request)) throw new Refusal('FORBIDDEN')",
    replacement: '',
    tests,
    only: 'that of admin.allow',
  },
  {
    title: 'superusers need no second factor at a public address',
    file: rules,
    text: 'if (isPublic) requireLevel(needs, by, 2)',
    replacement: '',
    tests,
    only: 'demands two factors',
  },
  {
    title: 'an old cookie of a superuser changes accounts',
    file: rules,
    text: 'if (isChange) requireFreshLogin(recent, by)',
    replacement: '',
    tests,
    only: 'demands a recent login',
  },
  {
    title: 'every page changes accounts at the port of the console',
    file: 'src/adapters/http/admin/of-own-origin.ts',
    text: 'origin !== undefined && (origin === ',
    replacement: 'origin !== undefined && (true || origin === ',
    tests,
    only: 'a port of its own',
  },
  {
    title: 'an old cookie of a superuser becomes a password',
    file: 'src/application/rights.ts',
    text: '(needs.hasConsole === true && isBrowserOfSuperuser(by))',
    replacement: 'false',
    tests,
    only: 'lets no old cookie',
  },
  {
    title: 'an old cookie of a superuser becomes the token of an app',
    file: 'src/adapters/http/apps/apps-router.ts',
    text: "mustAskFactor(by.user, by.credential) ? 'login' : apps.lackOf(by)",
    replacement: "mustAskFactor(by.user, by.credential) ? 'login' : null",
    tests,
    only: 'lets no old cookie',
  },
  {
    title: 'anybody sees dead letters in a program',
    file: 'src/application/rights.ts',
    text: "if (!by.user.isSuperuser) throw new Refusal('FORBIDDEN')\n  requireLevel(needs, by)\n",
    replacement: '',
    tests: ['test/application/deliveries/undelivered.test.ts'],
    only: 'superusers alone',
  },
  {
    title: 'a superuser without a factor signs in for an app again and again',
    file: 'src/adapters/http/admin/administration.ts',
    text: "thrown.code === 'SECOND_FACTOR_REQUIRED' && !hasFactor(by.user) ? 'factor' : 'login'",
    replacement: "'login'",
    tests,
    only: 'demands two factors of superusers with a cookie',
  },
]
