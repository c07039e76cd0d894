import { createSecretKey, randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { jwtCredentials } from '../../../src/adapters/credentials/jwt.ts'
import { newId } from '../../../src/adapters/crypto/new-id.ts'
import { Authenticate } from '../../../src/application/sign-in/authenticate.ts'
import { LogOut } from '../../../src/application/sign-in/log-out.ts'
import { LogOutEverywhere } from '../../../src/application/sign-in/log-out-everywhere.ts'
import type { User } from '../../../src/domain/user.ts'
import { aUser } from '../../../src/testing/builders.ts'
import { fixedClock } from '../../../src/testing/fixed-clock.ts'
import { changeUserOf, deliveryNeeds } from '../../support/scenes/delivery.ts'

async function scene() {
  const clock = fixedClock(new Date('2030-01-01T00:00:00Z'))
  const { users, expiringMarks } = await deliveryNeeds(clock)
  const user = { ...aUser({ sessions: { generation: 0, keptSid: null } }), endedUntil: null }
  await users.insert(user, [])
  let lookups = 0
  const counting = {
    ...expiringMarks,
    has(id: string) {
      lookups++
      return expiringMarks.has(id)
    },
  }
  const credentials = jwtCredentials({
    key: createSecretKey(randomBytes(32)),
    audience: 'portcullis',
    tenant: 'default',
    lifetimeSeconds: 3600,
    expiringMarks: counting,
    clock,
    newId,
  })
  const backend = { name: 'jwt', credentials, requiresVerification: false }
  const authenticate = new Authenticate({ users })
  const who = (value: string) => authenticate.execute([{ backend, value }])
  const logOut = new LogOut({ changeUser: changeUserOf(users) })
  return {
    clock,
    users,
    who,
    logOutEverywhere: new LogOutEverywhere({
      changeUser: changeUserOf(users),
      clock,
      newId,
      freshLoginSeconds: null,
    }),
    logIn: async (as: User = user) => (await credentials.issue(as, { at: clock(), methods: ['pwd'] })).value,
    lives: async (value: string) => (await who(value)) !== null,
    async logOut(value: string) {
      const by = await who(value)
      if (by === null) throw new Error('is not logged in')
      await logOut.execute(by)
    },
    lookups: () => lookups,
  }
}

describe('a logout everywhere', () => {
  it('ends no later login when its own login has ended meanwhile', async () => {
    const { logIn, lives, users, who, logOutEverywhere } = await scene()
    const by = await who(await logIn())
    if (by === null) throw new Error('is not logged in')
    await logOutEverywhere.execute({ by, target: by.user, requestId: 'first' })
    const later = await logIn((await users.find(by.user.id)) ?? by.user)
    const late = await logOutEverywhere
      .execute({ by, target: by.user, requestId: 'second' })
      .catch((error: unknown) => error)
    expect(late).to.include({ code: 'UNAUTHORIZED' })
    expect(await lives(later)).to.equal(true)
  })
})

describe('a logout by JWT', () => {
  it('ends exactly its own login: 100 logouts end 100 of 101 logins', async () => {
    const { clock, logIn, lives, logOut } = await scene()
    const tokens: string[] = []
    for (let count = 0; count < 101; count++) {
      tokens.push(await logIn())
      clock.advance(10)
    }
    const [last = '', ...others] = tokens.reverse()
    for (const token of others) await logOut(token)
    expect(await Promise.all(others.map(lives))).to.not.include(true)
    expect(await lives(last)).to.equal(true)
    clock.advance(2000)
    expect(await Promise.all(others.map(lives))).to.not.include(true)
    expect(await lives(last)).to.equal(true)
  })

  it('needs no look-up for users without a logout, nor for later logins', async () => {
    const { clock, logIn, lives, logOut, lookups } = await scene()
    const [ended, older] = [await logIn(), await logIn()]
    expect(await lives(older)).to.equal(true)
    await logOut(ended)
    expect(lookups()).to.equal(0)
    expect([await lives(ended), await lives(older)]).to.deep.equal([false, true])
    expect(lookups()).to.equal(2)
    clock.advance(1)
    expect(await lives(await logIn())).to.equal(true)
    expect(lookups()).to.equal(2)
  })
})
