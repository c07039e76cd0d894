import { expect } from 'chai'
import { routers } from '../../src/config/plugins/routers.ts'

describe('the registry of routers', () => {
  for (const router of routers) {
    it(`says which operations ${router.name} has, so that settings can be judged before anything opens`, () => {
      // Safe: a router asks its container for use cases and touches none before it is called.
      const container = { get: () => null } as never
      const { endpoints } = router.build({ container, prefix: router.prefix, backends: [] })
      const built = endpoints.map(({ method, path }) => `${method} ${path}`.replace(/:\w+/, ':id'))
      expect(built).to.have.members([...router.operations])
    })
  }
})
