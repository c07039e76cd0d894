import { killAmidChanges } from './crashes/postgres-kills.ts'
import { rounds } from './support/mocha/long.ts'
import { needsDeployment, onPostgres } from './support/services/deployments.ts'

describe('PostgreSQL that is killed', function () {
  this.timeout(300_000)

  it('loses no acknowledged write and no event', async function () {
    await needsDeployment(this, onPostgres)
    await killAmidChanges('PostgreSQL', rounds(2, 20))
  })
})
