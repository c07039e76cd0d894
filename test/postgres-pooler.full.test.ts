import { requestsBehindPooler } from './postgres/mixed-requests.ts'
import { twoProcesses } from './races/site.ts'
import { skipIfMissing } from './support/servers/obstacles.ts'
import { pgBouncerObstacle } from './support/servers/pgbouncer.ts'

describe('two processes behind PgBouncer in transaction mode', () => {
  it('answer all mixed requests, and a worker that only polls gets every event', async function () {
    skipIfMissing(this, pgBouncerObstacle())
    await requestsBehindPooler(twoProcesses, 30, 0)
  })
})
