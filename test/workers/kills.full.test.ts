import { expect } from 'chai'
import { isLong } from '../support/mocha/long.ts'
import { needsDeployment, onMongoAndRedis, onPostgres, onSqlite } from '../support/services/deployments.ts'
import { killWorkersAmidDeliveries, type Sizes } from './kills.ts'

const few: Sizes = { workers: 2, users: 20, eventsPerUser: 15, kills: 1, secondsBetweenKills: 0, leaseSeconds: 4 }
const many: Sizes = { workers: 4, users: 200, eventsPerUser: 50, kills: 20, secondsBetweenKills: 3, leaseSeconds: 20 }

describe('workers that are killed', function () {
  if (isLong) this.timeout(290_000)

  for (const deployment of [onSqlite, onMongoAndRedis, onPostgres]) {
    it(`lose no event of a user and keep them in order, on ${deployment.name}`, async function () {
      await needsDeployment(this, deployment)
      const repeated = await killWorkersAmidDeliveries(deployment, isLong ? many : few)
      // One kill amid a few hundred events repeats a larger share of them than kills do in a day.
      if (isLong) expect(repeated, 'share of repetitions').to.be.below(0.01)
    })
  }
})
