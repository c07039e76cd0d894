import { killAmidDeliveries } from './crashes/deliveries.ts'
import { killAmidRegistrations } from './crashes/registrations.ts'
import { rounds } from './support/mocha/long.ts'
import { onMongo, onPostgres, onSqlite } from './support/services/deployments.ts'
import { together } from './support/together.ts'

describe('a service that is killed', function () {
  this.timeout(300_000)

  // A killed process keeps its leases for seconds.
  together(
    [onSqlite, onMongo, onPostgres].flatMap((deployment) => [
      {
        title: `loses no answered registration and no event, on ${deployment.name}`,
        needs: deployment,
        run: () => killAmidRegistrations(deployment, rounds(3, 20)),
      },
      {
        title: `repeats interrupted deliveries after its restart, with the same tokens, on ${deployment.name}`,
        needs: deployment,
        run: () => killAmidDeliveries(deployment),
      },
    ]),
  )
})
