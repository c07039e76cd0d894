// Accounts in a Koa app of somebody's own, one export a line. docs/api.md lists it with all signatures.

export { koaAccounts } from './embedding/koa-accounts.ts'
export type { Guard } from './embedding/koa-accounts.ts'
export type { KoaAccounts } from './embedding/koa-accounts.ts'
export type { SignedIn } from './embedding/koa-accounts.ts'
