// Accounts in a Koa app of somebody's own, one export a line. docs/api.md lists it with all signatures.

export { koaAccounts } from './config/runtime/koa-host.ts'
export type { Guard } from './adapters/http/server/koa-accounts.ts'
export type { KoaAccounts } from './adapters/http/server/koa-accounts.ts'
export type { SignedIn } from './adapters/http/server/koa-accounts.ts'
