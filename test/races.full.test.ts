import { ownChangeRaces, superuserRaces } from './races/changes.ts'
import { loginRaces } from './races/logins.ts'
import { redemptionRaces } from './races/redemption.ts'
import { registrationRaces } from './races/registration.ts'
import { oneProcess, type Site, startSite, twoProcesses } from './races/site.ts'
import {
  inMemory,
  needsDeployment,
  onMongo,
  onMongoAndRedis,
  onSqlite,
  onSqliteAndRedis,
} from './support/deployments.ts'
import { isLong } from './support/long.ts'

const sites = [
  { deployment: inMemory, start: oneProcess, holds: 'everything' },
  { deployment: onSqlite, start: twoProcesses, holds: 'everything' },
  { deployment: onMongo, start: twoProcesses, holds: 'everything' },
  // Users of the same stores as above: what races for users alone is run again by test:long only.
  { deployment: onSqliteAndRedis, start: oneProcess, holds: 'sessions and tokens' },
  { deployment: onMongoAndRedis, start: oneProcess, holds: 'sessions and tokens' },
]
// Each of two processes has 32 of the callers at once: what one process gets wrong, either of them does too.
const repeatedByLong = [
  { deployment: onSqlite, start: oneProcess, holds: 'everything' },
  { deployment: onMongo, start: oneProcess, holds: 'everything' },
]

for (const { deployment, start, holds } of isLong ? [...sites, ...repeatedByLong] : sites) {
  describe(`a race over HTTP, on ${deployment.name}${start === twoProcesses ? ' and two processes' : ''}`, () => {
    let started: Site | null = null
    const site = (): Site => {
      if (started === null) throw new Error('the site is not started')
      return started
    }

    before(async function () {
      await needsDeployment(this, deployment)
      started = await startSite(deployment, start)
    })
    after(async () => {
      await started?.stop()
    })

    if (isLong || holds === 'everything') {
      registrationRaces(site)
      ownChangeRaces(site)
      if (deployment.isShared) superuserRaces(site)
    }
    redemptionRaces(site)
    // Only where a second process reaches the stores can a superuser be made.
    loginRaces(site, deployment.isShared ? ['anybody', 'a superuser'] : ['anybody'])
  })
}
