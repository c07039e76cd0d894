import { expect } from 'chai'
import { environmentOf, startCommand } from '../support/process/commands.ts'
import { projectRoot } from '../support/project/readme-blocks.ts'

const program = `
import { once } from 'node:events'
import Router from '@koa/router'
import Koa from 'koa'
import { koaBody } from 'koa-body'
import { openPortcullis } from 'portcullis'
import { koaAccounts } from 'portcullis/koa'
const settings = {
  stores: { users: { kind: 'memory' } }, http: { publicUrl: 'http://localhost:3000' }, logs: { requests: 'all' },
  mail: { url: 'smtp://127.0.0.1:1' },
}
const portcullis = await openPortcullis(settings, { handlers: { on_after_login() {} }, delivers: false })
const accounts = koaAccounts(portcullis)
const router = new Router()
  .get('/orders/:id', accounts.requireUser(), (ctx) => { ctx.body = 'orders' })
  .get('/open', (ctx) => { ctx.body = 'open' })
const app = new Koa().use(koaBody()).use(accounts.routes()).use(router.routes())
const server = app.listen(0, '127.0.0.1')
await once(server, 'listening')
const call = (path, id, init = {}) =>
  fetch('http://127.0.0.1:' + server.address().port + path, { ...init, headers: { 'X-Request-Id': id, ...init.headers } })
await call('/users/me?secret', 'request-1')
await call('/orders/secret', 'request-2')
await call('/open', 'request-3')
await call('/nothing', 'request-4')
const json = { method: 'POST', body: '{}', headers: { 'Content-Type': 'application/json' } }
await call('/auth/register', 'request-5', json)
server.close()
await portcullis.close()
`

describe('the log in a host app', () => {
  it('has a line for each answer of our routes and guards, and none for answers of the app', async () => {
    const { ended, output } = startCommand(
      [process.execPath, '--input-type=module', '-e', program],
      projectRoot,
      environmentOf({}),
    )
    expect(await ended, output.error).to.equal(0)
    const all = output.error.trimEnd().split('\n')
    const lines = all.map((line) => JSON.parse(line)).filter(({ requestId }) => requestId !== undefined)
    const answers = lines.filter(({ msg }) => msg === 'request')
    expect(answers.map(({ requestId, method, route, status }) => [requestId, method, route, status])).to.deep.equal([
      ['request-1', 'GET', '/users/me', 401],
      ['request-2', 'GET', '/orders/:id', 401],
      ['request-5', 'POST', '/auth/register', 500],
    ])
    const faults = lines.filter(({ level }) => level === 50)
    expect(faults.map(({ requestId, msg, err }) => [requestId, msg, err.message])).to.deep.equal([
      ['request-5', 'request failed', 'the body was already read: mount these routes before any body parser'],
    ])
    expect(output.error).to.include('"msg":"the handlers of events are not called')
    expect(output.error).to.include('"msg":"messages link to /account')
    expect(output.error).to.not.match(/orders\/secret|me\?secret/)
  })
})
