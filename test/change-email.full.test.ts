import { addressRaces } from './races/addresses.ts'
import { siteOf, twoProcesses } from './races/site.ts'
import { onMongo, onMongoAndRedis, onPostgres, onSqlite } from './support/services/deployments.ts'

for (const deployment of [onSqlite, onMongo, onMongoAndRedis, onPostgres]) {
  describe(`a race for a new address that has to be confirmed, on ${deployment.name} and two processes`, () => {
    const settings = async () => ({
      ...(await deployment.settings()),
      PORTCULLIS_SECURITY__CONFIRM_EMAIL_CHANGE: 'true',
      PORTCULLIS_LIMITS__ENABLED: 'false', // an address gets more than five messages
    })
    addressRaces(siteOf({ ...deployment, settings }, twoProcesses))
  })
}
