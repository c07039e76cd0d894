import { storeSuites } from '../../src/testing/store-suites.ts'
import { storesUnderTest } from '../support/stores/stores.ts'

const serversAreRequired = process.env.TEST_REQUIRE_SERVERS === '1'

for (const { name, start, stop, ...store } of storesUnderTest) {
  describe(`the ${name} store`, () => {
    before(async function () {
      const obstacle = (await start?.()) ?? null
      if (obstacle === null) return
      if (serversAreRequired) throw new Error(obstacle)
      process.once('exit', () => console.warn(`NOT TRIED: the ${name} store, since ${obstacle}`))
      this.skip()
    })

    storeSuites({ describe, it, after }, store)

    after(async () => {
      await stop?.()
    })
  })
}
