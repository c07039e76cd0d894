import { expect } from 'chai'
import { endRightsAmidKills } from './crashes/superusers.ts'
import { figure } from './support/http/figures.ts'
import { needsDeployment, onMongo, onPostgres, onSqlite } from './support/services/deployments.ts'

const rounds = 40

describe('the last active superuser', function () {
  this.timeout(1_200_000)

  for (const deployment of [onSqlite, onMongo, onPostgres]) {
    it(`stays when processes that end the rights of all are killed, on ${deployment.name}`, async function () {
      await needsDeployment(this, deployment)
      const seen = await endRightsAmidKills(deployment, rounds)
      figure(`rights ended on ${deployment.name}`, seen)
      expect(seen.done).to.be.greaterThan(rounds * 10)
      expect(seen.kills).to.be.greaterThan(rounds / 2)
    })
  }
})
