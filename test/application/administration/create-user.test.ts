import { expect } from 'chai'
import { newId } from '../../../src/adapters/crypto/new-id.ts'
import { CreateUser, type NewAccount } from '../../../src/application/administration/create-user.ts'
import type { Authenticated } from '../../../src/application/sign-in/authenticate.ts'
import { type Email, emailKey } from '../../../src/domain/email.ts'
import type { User } from '../../../src/domain/user.ts'
import { unique } from '../../../src/domain/user-record.ts'
import { aCredential, aUser } from '../../../src/testing/builders.ts'
import { fixedClock } from '../../../src/testing/fixed-clock.ts'
import { quickHasher } from '../../../src/testing/quick-hasher.ts'
import { faultOf } from '../../support/fault-of.ts'
import { changeUserOf, deliveryNeeds } from '../../support/scenes/delivery.ts'

const email = 'ada@example.com' as Email // safe: it is one
const password = 'correct horse battery staple'

describe('a superuser who creates a user', () => {
  async function scene(whileHashing: (root: User) => User) {
    const clock = fixedClock()
    const stores = await deliveryNeeds(clock)
    const root = aUser({ isSuperuser: true, sessions: { generation: 0, keptSid: null } })
    for (const user of [root, aUser({ isSuperuser: true })]) await stores.users.insert(user, [])
    const changeUser = changeUserOf(stores.users)
    const hasher = {
      ...quickHasher,
      async hash(text: string) {
        await changeUser.execute(root.id, (fresh) => ({ type: 'replace', user: whileHashing(fresh), events: [] }))
        return quickHasher.hash(text)
      },
    }
    const policy = { minLength: 0, isCommon: () => false }
    const createUser = new CreateUser({ ...stores, changeUser, hasher, policy, newId, freshLoginSeconds: null })
    const credential = aCredential({ userId: root.id, generation: 0 })
    const credentials = { isEnded: async () => false }
    const backend = { name: 'jwt', credentials, requiresVerification: false } as never // safe: only this is called
    const by: Authenticated = { user: root, credential, backend }
    const create = (more: Partial<NewAccount> = {}) =>
      createUser.execute({ by, email, password, requestId: 'request', ...more })
    return { create, found: () => stores.users.findBy(unique.email(emailKey(email))) }
  }

  for (const [what, change, code] of [
    ['the right', (root: User) => ({ ...root, isSuperuser: false }), 'FORBIDDEN'],
    ['the login', (root: User) => ({ ...root, isActive: false }), 'UNAUTHORIZED'],
  ] as const) {
    it(`and loses ${what} meanwhile, creates nobody`, async () => {
      const { create, found } = await scene(change)
      expect(await faultOf(create())).to.include({ code })
      expect(await found()).to.equal(null)
    })
  }

  it('vouches for the owner only with a password and a verified address', async () => {
    for (const [more, isOwnerProved] of [
      [{ isVerified: true }, true],
      [{}, false],
      [{ isVerified: true, invite: true, password: undefined }, false],
    ] as const) {
      const { create, found } = await scene((root) => root)
      await create(more)
      expect(await found()).to.include({ isOwnerProved, isVerified: more.isVerified ?? false, isSuperuser: false })
    }
  })
})
