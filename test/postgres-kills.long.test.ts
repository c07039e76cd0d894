import { killAmidChanges } from './crashes/postgres-kills.ts'
import { needsDeployment, onPostgres } from './support/services/deployments.ts'

describe('a service on PostgreSQL that is killed', function () {
  this.timeout(300_000)

  it('loses no acknowledged write and no event, and ends no session', async function () {
    await needsDeployment(this, onPostgres)
    await killAmidChanges('the service', 20)
  })
})
