import type { ClientLimit } from '../../application/limits/limits.ts'

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

/** `anybody`: like `public`, but the handler gets the logged-in user, if any. */
export type Access = 'public' | 'anybody' | 'user' | 'superuser'

/** The limit for each client, which the pipeline counts; `'passwords'` for the limits that the use case counts. */
export type Limit = ClientLimit | 'passwords'

/** Method, path below the prefix of the router (`:name` is a parameter), access and limit. */
export type Route<Who extends Access = Access> = readonly [method: Method, path: string, access: Who, limit?: Limit]

/** Every route of the API, by its router. */
export const routes = {
  /** Of each backend, below `backends.<name>.prefix`. */
  auth: {
    login: ['POST', '/login', 'public', 'passwords'],
    logout: ['POST', '/logout', 'user'],
  },
  /** Below `routers.<name>.prefix`, as the next three routers. */
  register: {
    register: ['POST', '/register', 'public', 'registrations'],
  },
  resetPassword: {
    requestToken: ['POST', '/forgot-password', 'public', 'tokenRequests'],
    reset: ['POST', '/reset-password', 'public', 'wrongTokens'],
  },
  verify: {
    requestToken: ['POST', '/request-verify-token', 'public', 'tokenRequests'],
    verify: ['POST', '/verify', 'anybody', 'wrongTokens'],
    reject: ['POST', '/verify/reject', 'public', 'wrongTokens'],
  },
  users: {
    readMe: ['GET', '/me', 'user'],
    changeMe: ['PATCH', '/me', 'user', 'passwords'],
    listMyAccounts: ['GET', '/me/oauth-accounts', 'user'],
    listMySessions: ['GET', '/me/sessions', 'user'],
    endMyLogins: ['DELETE', '/me/sessions', 'user'],
    endMySession: ['DELETE', '/me/sessions/:id', 'user'],
    listSessions: ['GET', '/:user_id/sessions', 'superuser'],
    endLogins: ['DELETE', '/:user_id/sessions', 'superuser'],
    endSession: ['DELETE', '/:user_id/sessions/:id', 'superuser'],
    create: ['POST', '', 'superuser'],
    invite: ['POST', '/:user_id/invite', 'superuser'],
    read: ['GET', '/:user_id', 'superuser'],
    change: ['PATCH', '/:user_id', 'superuser', 'passwords'],
    delete: ['DELETE', '/:user_id', 'superuser'],
  },
  /** Below the prefix of the users, if `users.search` is on. */
  userSearch: {
    search: ['GET', '', 'superuser'],
    searchByBody: ['POST', '/search', 'superuser'],
  },
  /** The same. */
  explain: {
    explain: ['GET', '/explain', 'superuser'],
    explainByBody: ['POST', '/explain', 'superuser'],
    details: ['GET', '/:user_id/details', 'superuser'],
  },
  /** Below the prefix of the users, if `users.selfDeletion` is on. Otherwise `/me` counts as the id of no user. */
  ownDeletion: {
    deleteMe: ['DELETE', '/me', 'user'],
  },
  /** Below the prefix of the users, if `users.selfExport` is on. */
  ownExport: {
    exportMe: ['GET', '/me/export', 'user'],
  },
  /** Below `routers.factors.prefix`. */
  factors: {
    list: ['GET', '/me/factors', 'user'],
    beginTotp: ['POST', '/me/factors/totp', 'user'],
    confirmTotp: ['POST', '/me/factors/totp/confirm', 'user'],
    removeTotp: ['DELETE', '/me/factors/totp', 'user'],
    renewRecoveryCodes: ['POST', '/me/factors/recovery-codes', 'user'],
    beginPasskey: ['POST', '/me/factors/passkeys/options', 'user', 'oauthRequests'],
    addPasskey: ['POST', '/me/factors/passkeys', 'user'],
    renamePasskey: ['PATCH', '/me/factors/passkeys/:id', 'user'],
    removePasskey: ['DELETE', '/me/factors/passkeys/:id', 'user'],
    keepMine: ['DELETE', '/me/factors/reset', 'user'],
    redeemKeep: ['POST', '/keep-factors', 'public', 'wrongTokens'],
    reset: ['POST', '/:user_id/factors/reset', 'superuser'],
    keep: ['DELETE', '/:user_id/factors/reset', 'superuser'],
  },
  /** Of each backend, below its prefix, if the router `factors` is on. */
  secondFactor: {
    finish: ['POST', '/second-factor', 'public', 'passwords'],
    beginPasskey: ['POST', '/passkey/options', 'public', 'oauthRequests'],
    logInByPasskey: ['POST', '/passkey', 'public', 'oauthRequests'],
  },
  /** Of each provider, below `providers.<name>.prefix`. */
  oauth: {
    authorize: ['GET', '/authorize', 'public', 'oauthRequests'],
    callback: ['GET', '/callback', 'public', 'oauthRequests'],
    postedCallback: ['POST', '/callback', 'public'],
  },
  /** Of each provider, below `providers.<name>.associatePrefix`. */
  oauthAssociate: {
    authorize: ['GET', '/authorize', 'user', 'oauthRequests'],
    callback: ['GET', '/callback', 'user', 'oauthRequests'],
    unlink: ['DELETE', '/:id', 'user'],
    postedCallback: ['POST', '/callback', 'public'],
  },
  /** Of the pages, below no prefix. */
  checkReset: {
    check: ['POST', '/account/reset/check', 'public', 'wrongTokens'],
  },
  /** Of the pages, too. */
  checkPassword: {
    check: ['GET', '/account/password/check', 'user'],
  },
  /** Of the sign-in for apps, if `apps` has one. A code cannot be guessed, so its use has no limit. */
  apps: {
    authorize: ['GET', '/account/authorize', 'anybody', 'oauthRequests'],
    continue: ['POST', '/account/authorize/continue', 'user', 'oauthRequests'],
    token: ['POST', '/account/token', 'public'],
  },
  /** Of the console, below no prefix. */
  admin: {
    listDeliveries: ['GET', '/admin/deliveries', 'superuser'],
    retryDelivery: ['POST', '/admin/deliveries/:id/retry', 'superuser'],
    discardDelivery: ['DELETE', '/admin/deliveries/:id', 'superuser'],
    health: ['GET', '/admin/health', 'superuser'],
  },
  /** Of the process, below no prefix. */
  operations: {
    alive: ['GET', '/healthz', 'public'],
    ready: ['GET', '/readyz', 'public'],
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, Route>>>>

/** The paths of the pages and their files: GET and HEAD, public, without a limit. */
export const pagePaths = {
  docs: [
    '/openapi.json',
    '/docs',
    '/docs/start.js',
    '/docs/contrast.css',
    '/docs/swagger-ui.css',
    '/docs/swagger-ui-bundle.js',
    '/docs/favicon-32x32.png',
  ],
  /** Only for browsers of this machine. */
  try: [
    '/try',
    '/try/config.json',
    '/try/base.css',
    '/try/app.js',
    '/try/client.js',
    '/try/words.js',
    '/try/style.css',
    '/try/icon.svg',
  ],
  /** Only for browsers of this machine. */
  mailbox: ['/try/mailbox', '/try/mailbox/message', '/try/mailbox/mailbox.css', '/try/mailbox/mailbox-refresh.js'],
  frontDoor: ['/', '/.well-known/change-password'],
  keys: ['/.well-known/jwks.json', '/.well-known/oauth-authorization-server', '/.well-known/openid-configuration'],
  account: [
    '/account',
    '/account/sign-in',
    '/account/sign-up',
    '/account/forgot',
    '/account/reset',
    '/account/verify',
    '/account/address',
    '/account/password',
    '/account/delete',
    '/account/factors',
    '/account/style.:version.css',
    '/account/theme.css',
    '/account/icon.svg',
  ],
  /** Only at `admin.port`, if it is set, and for clients of `admin.allow`. */
  console: ['/admin', '/admin/console.:version.js', '/admin/admin.:version.css'],
} as const satisfies Readonly<Record<string, readonly string[]>>

type Listed = (typeof pagePaths)[keyof typeof pagePaths][number]

/** The other forms: the script of a page, the icon of the settings, the image of a provider, and a link with an encoded `#`. */
export type PagePath =
  | Listed
  | `/account/${string}.js`
  | `/account/style${string}.css`
  | '/admin/console.js'
  | '/admin/admin.css'
  | `/account/logo${string}.${string}`
  | `/account/providers/${string}.svg`
  | `/account/${'reset' | 'verify' | 'factors'}${'%23' | '%2523'}{*rest}`
