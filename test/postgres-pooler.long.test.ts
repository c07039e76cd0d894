import { expect } from 'chai'
import { requestsBehindPooler } from './postgres/mixed-requests.ts'
import { fourProcesses } from './races/site.ts'
import { skipIfMissing } from './support/servers/obstacles.ts'
import { pgBouncerObstacle } from './support/servers/pgbouncer.ts'

describe('four processes behind PgBouncer in transaction mode', function () {
  this.timeout(600_000)

  it('answer 10 000 mixed requests, and each event reaches the handler within 2 s by polling alone', async function () {
    skipIfMissing(this, pgBouncerObstacle())
    for (const delay of await requestsBehindPooler(fourProcesses, 1_000, 20)) expect(delay).to.be.below(2_000)
  })
})
