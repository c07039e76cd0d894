import { addressRaces } from './races/addresses.ts'
import { type Site, startSite, twoProcesses } from './races/site.ts'
import { needsDeployment, onMongo, onMongoAndRedis, onSqlite } from './support/deployments.ts'

for (const deployment of [onSqlite, onMongo, onMongoAndRedis]) {
  describe(`a race for a new address that has to be confirmed, on ${deployment.name} and two processes`, () => {
    let started: Site | null = null
    const site = (): Site => {
      if (started === null) throw new Error('the site is not started')
      return started
    }

    before(async function () {
      await needsDeployment(this, deployment)
      const settings = async () => ({
        ...(await deployment.settings()),
        PORTCULLIS_SECURITY__CONFIRM_EMAIL_CHANGE: 'true',
        PORTCULLIS_LIMITS__ENABLED: 'false', // an address gets more than five messages
      })
      started = await startSite({ ...deployment, settings }, twoProcesses)
    })
    after(async () => {
      await started?.stop()
    })

    addressRaces(site)
  })
}
