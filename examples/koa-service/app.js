// A Koa app with accounts. Only users with a verified address can order.
import Router from '@koa/router'
import Koa from 'koa'
import { koaBody } from 'koa-body'
import { openPortcullis } from 'portcullis'
import { koaAccounts } from 'portcullis/koa'

const port = Number(process.env.PORT ?? 3000)
const url = `http://localhost:${port}`

const portcullis = await openPortcullis(
  { dataFolder: 'data', http: { publicUrl: url } },
  { handlers: { on_after_request_verify: (user, token) => console.log(`mail to ${user.email}: ${token}`) } },
)
const accounts = koaAccounts(portcullis)

/** The orders of each user id, until the process ends. */
const orders = new Map()

const router = new Router()
router.get('/', (ctx) => {
  ctx.body = 'The shop is open.\n'
})
router.get('/orders', accounts.requireUser(), (ctx) => {
  ctx.body = orders.get(ctx.state.user.id) ?? []
})
router.post('/orders', accounts.requireVerified(), koaBody(), (ctx) => {
  const { id, email } = ctx.state.user
  orders.set(id, [...(orders.get(id) ?? []), ctx.request.body])
  ctx.status = 201
  ctx.body = `${email} has ordered ${ctx.request.body.what}\n`
})
router.get('/all-orders', accounts.requireSuperuser(), (ctx) => {
  ctx.body = Object.fromEntries(orders)
})

const app = new Koa()
app.use(accounts.routes())
app.use(router.routes())
app.use(router.allowedMethods())

const server = app.listen(port, '127.0.0.1', () => console.error(`The app listens on ${url}`))
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => server.close(() => portcullis.close()))
