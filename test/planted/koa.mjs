// Guards of an app of somebody else's, and what keeps ours and theirs apart. See scripts/planted-faults.mjs.

const routes = ['test/koa/routes.test.ts']
const guards = ['test/koa/guards.test.ts']
const tenants = ['test/koa/tenants.test.ts']
const accounts = 'src/embedding/koa-accounts.ts'
const paths = 'src/embedding/koa-paths.ts'

export default [
  [
    'a foreign page with a cookie, in an app',
    'src/adapters/http/pipeline/identify.ts',
    'if (isByPage && isForeign(headers, ownOrigins()))',
    'if (false)',
    guards,
  ],
  [
    'a page with a cookie that only reads, in an app',
    'src/adapters/http/pipeline/identify.ts',
    '&& !safeMethods.has(method)',
    '',
    guards,
  ],
  ['the rights of a user, in an app', accounts, "if (!admits(by.user)) throw new Refusal('FORBIDDEN')", '', guards],
  ['the use of a session, in an app', accounts, 'touch(by)', '', guards],
  ['a fault behind a guard in an app', accounts, 'await next()\n    }', 'return answer(ctx, next)\n    }', guards],
  ['the secrets of a user, in an app', accounts, 'user: viewOf(by.user)', 'user: by.user', guards],
  ['a tenant nobody knows, in an app', accounts, "if (!insides.knows(id)) throw new Refusal('NOT_FOUND')", '', tenants],
  ['the path of an app with tenants', accounts, 'ctx.url = url', '', tenants],
  ['the state of an app', accounts, 'ctx.state = state\n', '\n', routes],
  ['a mounted app', accounts, 'if (ctx.mountPath === undefined) return', 'return', routes],
  ['a target that is no URL, in an app', paths, 'if (!isReadable(ctx)) return false', '', routes],
  [
    'whose paths are ours, in an app',
    paths,
    'tenants?.enabled.get(id ?? defaultTenant)?.settings ?? settings',
    'settings',
    tenants,
  ],
  ['preflights of all tenants, in an app', paths, 'if (tellsByHeader && isPreflight(ctx))', 'if (false)', tenants],
  [
    'cookies of the app',
    'src/adapters/http/pipeline/send.ts',
    "ctx.append('Set-Cookie'",
    "ctx.set('Set-Cookie'",
    routes,
  ],
].map(([title, file, text, replacement, tests]) => ({ title, file, text, replacement, tests }))
