import { ownChangeRaces, superuserRaces } from './races/changes.ts'
import { factorRaces } from './races/factors.ts'
import { loginRaces } from './races/logins.ts'
import { redemptionRaces } from './races/redemption.ts'
import { numberRaces, registrationRaces } from './races/registration.ts'
import { fourProcesses, oneProcess, siteOf, twoProcesses } from './races/site.ts'
import { uniqueFieldRaces } from './races/unique-fields.ts'
import { isLong } from './support/mocha/long.ts'
import {
  type Deployment,
  inMemory,
  onMongo,
  onMongoAndRedis,
  onPostgres,
  onSqlite,
  onSqliteAndRedis,
} from './support/services/deployments.ts'

const withIntegers = (deployment: Deployment): Deployment => ({
  ...deployment,
  settings: async () => ({ ...(await deployment.settings()), PORTCULLIS_IDS: 'integer' }),
})

const sites = [
  { deployment: inMemory, start: oneProcess, holds: 'everything' },
  { deployment: withIntegers(onSqlite), start: twoProcesses, holds: 'everything' },
  { deployment: withIntegers(onMongo), start: twoProcesses, holds: 'everything' },
  { deployment: withIntegers(onPostgres), start: fourProcesses, holds: 'everything' },
  // Users are in the same stores as above, so only test:long repeats the races for users alone.
  { deployment: onSqliteAndRedis, start: oneProcess, holds: 'sessions and tokens' },
  { deployment: onMongoAndRedis, start: oneProcess, holds: 'sessions and tokens' },
]
// Each of two processes above has 32 callers, so it makes the same mistakes as a single process.
const repeatedByLong = [
  { deployment: onSqlite, start: oneProcess, holds: 'everything' },
  { deployment: onMongo, start: oneProcess, holds: 'everything' },
]
/** With their races in four processes, and whether the users differ from those of an earlier one. */
const inFour = [
  { deployment: onSqlite, hasUsers: true },
  { deployment: onMongo, hasUsers: true },
  { deployment: onSqliteAndRedis, hasUsers: false },
  { deployment: onMongoAndRedis, hasUsers: false },
]

const processes = new Map([
  [twoProcesses, ' and two processes'],
  [fourProcesses, ' and four processes'],
])

for (const { deployment, start, holds } of isLong ? [...sites, ...repeatedByLong] : sites) {
  describe(`a race over HTTP, on ${deployment.name}${processes.get(start) ?? ''}`, () => {
    const site = siteOf(deployment, start)

    if (isLong || holds === 'everything') {
      registrationRaces(site)
      if (start !== oneProcess) numberRaces(site)
      ownChangeRaces(site)
      uniqueFieldRaces(site)
      if (deployment.isShared) superuserRaces(site)
    }
    redemptionRaces(site)
    factorRaces(site)
    // Only where a second process reaches the stores can a superuser be made.
    loginRaces(site, deployment.isShared ? ['anybody', 'a superuser'] : ['anybody'])
  })
}

for (const { deployment, hasUsers } of isLong ? inFour : []) {
  describe(`a race over HTTP, on ${deployment.name} and four processes`, () => {
    const site = siteOf(withIntegers(deployment), fourProcesses)
    factorRaces(site)
    if (!hasUsers) return
    numberRaces(site)
    uniqueFieldRaces(site)
  })
}
