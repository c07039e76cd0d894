import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { derivedKeys } from '../../../src/adapters/crypto/derived-keys.ts'
import { deviceTokens } from '../../../src/adapters/crypto/device-tokens.ts'
import { providerVault } from '../../../src/adapters/crypto/provider-vault.ts'
import { countersOfSecrets } from '../../../src/application/limits/counters-of-secrets.ts'
import { issueToken } from '../../../src/application/one-time-tokens/issue-token.ts'
import type { EmailKey } from '../../../src/domain/email.ts'
import type { EventId, UserId } from '../../../src/domain/ids.ts'
import { factOf } from '../../../src/domain/one-time-token.ts'
import { aUser } from '../../../src/testing/builders.ts'
import { fixedClock } from '../../../src/testing/fixed-clock.ts'
import { countersBy } from '../../support/scenes/counters.ts'
import { deliveryNeeds } from '../../support/scenes/delivery.ts'

const [old, next] = [randomBytes(32), randomBytes(32)]
const [onlyOld, nextOpens, oldOpens, onlyNext] = [
  derivedKeys(old),
  derivedKeys([old, next]),
  derivedKeys([next, old]),
  derivedKeys(next),
]
const clock = fixedClock(new Date('2030-01-01T00:00:00Z'))
const event = '01890a5d-ac96-774b-bcce-b302099a8057' as EventId
const user = '01890a5d-ac96-774b-bcce-b302099a8058' as UserId
const ada = 'ada@example.com' as EmailKey

describe('several secrets', () => {
  type Keys = typeof onlyOld
  const vaultOf = (keys: Keys) => providerVault(keys.providerTokenKey, keys.former.providerTokenKeys)
  const devicesOf = (keys: Keys) => deviceTokens(keys.deviceTokenKey, clock, keys.former.deviceTokenKeys)

  /** Everything that one process makes and another one opens. */
  const kinds: Readonly<Record<string, (by: Keys, opener: Keys) => boolean>> = {
    'an address': (by, opener) => opener.unsealEmail(by.sealEmail(ada, 'r'), 'r') === ada,
    'a record that works once': (by, opener) => opener.unsealRecord(by.sealRecord({ sid: 's' }, 'k'), 'k') !== null,
    'a secret of a second factor': (by, opener) => opener.unsealFactor(by.sealFactor('s', 'b'), 'b') === 's',
    'a signing key': (by, opener) =>
      opener.unsealSigningKey(by.sealSigningKey(Buffer.from('k'), 'kid'), 'kid') !== null,
    'a provider token': (by, opener) =>
      vaultOf(opener).unseal(vaultOf(by).seal('t', user, 'acme'), user, 'acme') === 't',
    'a device token': (by, opener) => devicesOf(opener).idOf(devicesOf(by).issue(ada), ada) !== null,
    'a one-time token': (by, opener) => {
      const token = by.tokenFor('reset_password', event, user, 'fact')
      return opener.tokenOf(by.digest(token), 'reset_password', event, user, 'fact') === token
    },
  }

  for (const [kind, opens] of Object.entries(kinds)) {
    it(`open ${kind} of each other while the secret changes, and never one of an unknown secret`, () => {
      const steps = [onlyOld, nextOpens, oldOpens, onlyNext]
      const opened = steps.map((by) => steps.map((opener) => opens(by, opener)))
      expect(opened).to.deep.equal([
        [true, true, true, false],
        [true, true, true, false],
        [false, true, true, true],
        [false, true, true, true],
      ])
    })
  }

  it('sign and seal with the first', () => {
    const token = (keys: Keys) => keys.tokenFor('reset_password', event, user, 'fact')
    expect([token(nextOpens), token(oldOpens)]).to.deep.equal([token(onlyOld), token(onlyNext)])
    expect(oldOpens.jwtKey.equals(onlyNext.jwtKey)).to.equal(true)
    expect(oldOpens.former.jwtKeys[0]?.equals(onlyOld.jwtKey)).to.equal(true)
  })

  it('hand out a token again that the former secret made, and a new one once that secret is gone', async () => {
    const needs = await deliveryNeeds(clock)
    const person = aUser()
    await needs.users.insert(person, [])
    const purpose = 'reset_password'
    const issue = { purpose, user: person, fact: factOf(purpose, person), eventId: event, isRepeated: true } as const
    const issued = async (keyRing: Keys) => (await issueToken({ ...needs, keyRing }, issue)).token
    const first = await issued(onlyOld)
    expect(await issued(oldOpens)).to.equal(first)
    const second = await issued(onlyNext)
    expect(second).not.to.equal(first)
    expect((await needs.tokens.current(purpose, person.id))?.digest).to.equal(onlyNext.digest(second))
  })

  it('give no fresh budget of a limit at any step, also to requests of processes at different steps', async () => {
    const limiter = countersOfSecrets(countersBy(clock))
    const add = async (keys: Keys, points = 1) =>
      (await limiter.add(`passwordsPerAccount:${keys.counterKey('x')}:pause`, points, 60)).points
    expect([await add(onlyOld), await add(nextOpens), await add(onlyOld), await add(oldOpens)]).to.deep.equal([
      1, 2, 3, 4,
    ])
    expect([await add(oldOpens, -1), await add(nextOpens), await add(onlyNext)]).to.deep.equal([3, 4, 3])
    // The process with the next secret alone has the points of those with both. In real life, those run longer than a window.
    await limiter.clear(`passwordsPerAccount:${oldOpens.counterKey('x')}:pause`)
    expect([await add(onlyOld, 0), await add(onlyNext, 0)]).to.deep.equal([0, 0])
  })
})
