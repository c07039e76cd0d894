// Accounts in your own Koa app. `npm run docs:api` lists all names with their signatures.

export { koaAccounts } from './config/runtime/koa-host.ts'
export type { Guard, KoaAccounts, SignedIn } from './adapters/http/server/koa-accounts.ts'
