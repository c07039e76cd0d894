// Three tenants on three kinds of stores in one process, with the same address registered at each.
import { openPortcullis, Refusal, toEmail } from 'portcullis'

const { MONGODB_URL, REDIS_URL, PORTCULLIS_SECRET } = process.env
const memory = { kind: 'memory' }
const redis = { kind: 'redis', url: REDIS_URL }

/** The stores of each tenant. */
const list = {
  acme: {},
  bolt: MONGODB_URL
    ? { secret: PORTCULLIS_SECRET, stores: { users: { kind: 'mongo', url: MONGODB_URL } } }
    : { stores: { users: memory } },
  cord: { stores: REDIS_URL ? { sessions: redis, tokens: redis } : { sessions: memory, tokens: memory } },
}
const places = {
  acme: 'SQLite, everything',
  bolt: MONGODB_URL ? 'MongoDB, everything' : 'memory, everything: set MONGODB_URL and PORTCULLIS_SECRET for MongoDB',
  cord: `SQLite, sessions and tokens in ${REDIS_URL ? 'Redis' : 'memory: set REDIS_URL for Redis'}`,
}

const portcullis = await openPortcullis({
  dataFolder: 'data',
  logs: { level: 'error' },
  tenants: { by: 'header', list },
})
const names = Object.keys(list)
const email = toEmail('ada@example.com')

/** Registers Ada at a tenant if necessary, and returns a new session. */
async function logIn({ registerUser, logIn, backends }, tenant) {
  const password = `a pass phrase for ${tenant}`
  const requestId = `example-of-${tenant}`
  try {
    await registerUser.execute({ email, password, requestId })
  } catch (thrown) {
    if (!(thrown instanceof Refusal) || thrown.code !== 'REGISTER_USER_ALREADY_EXISTS') throw thrown
  }
  const { issued } = await logIn.execute({ email, password, backend: backends.get('cookie'), requestId })
  return issued.value
}

const sessions = new Map()
for (const tenant of names) {
  const session = await portcullis.withTenant(tenant, (accounts) => logIn(accounts, tenant))
  sessions.set(tenant, session)
  console.log(`${tenant}  ${places[tenant]}`)
}

console.log(`\n${' '.repeat(14)}at ${names.join('  at ')}`)
for (const [of, value] of sessions) {
  let row = `session of ${of}`
  for (const tenant of names) {
    const by = await portcullis.withTenant(tenant, ({ authenticate, backends }) =>
      authenticate.execute([{ backend: backends.get('cookie'), value }]),
    )
    row += `  ${by === null ? 'nobody ' : 'Ada    '}`
  }
  console.log(row.trimEnd())
}
await portcullis.close()
