// Accounts in your own Koa app, one export per line. `npm run docs:api` lists the names with their signatures.

export { koaAccounts } from './embedding/koa-accounts.ts'
export type { Guard } from './embedding/koa-accounts.ts'
export type { KoaAccounts } from './embedding/koa-accounts.ts'
export type { SignedIn } from './embedding/koa-accounts.ts'
