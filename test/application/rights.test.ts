import { expect } from 'chai'
import { acts, requireRight } from '../../src/application/rights.ts'
import type { By } from '../../src/application/sign-in/authenticate.ts'
import { Refusal } from '../../src/domain/refusal.ts'
import { aCredential, aUser, someFactors } from '../../src/testing/builders.ts'
import { fixedClock } from '../../src/testing/fixed-clock.ts'

describe('the right to act on an account', () => {
  const clock = fixedClock()
  const needs = { freshLoginSeconds: 60, clock }
  const login = (isSuperuser: boolean, age: number): By & { type?: undefined } => {
    const user = aUser({ isSuperuser })
    const provedAt = new Date(clock().getTime() - age * 1000)
    const credential = aCredential({ userId: user.id, provedAt })
    return { user, credential, backend: {} as never } // safe: the rule reads no backend
  }
  const logins = {
    'user, fresh': login(false, 1),
    'user, old': login(false, 61),
    'superuser, fresh': login(true, 1),
    'superuser, old': login(true, 61),
  }
  const refusalOf = (...given: Parameters<typeof requireRight>): string => {
    try {
      requireRight(...given)
      return 'may'
    } catch (thrown) {
      return thrown instanceof Refusal ? thrown.code : String(thrown)
    }
  }
  const all = <T>(answer: (act: (typeof acts)[number]) => T) =>
    Object.fromEntries(acts.map((act) => [act, answer(act)]))

  const [may, alien, old] = ['may', 'FORBIDDEN', 'FRESH_LOGIN_REQUIRED']
  const table = {
    //                 user: fresh, old    superuser: fresh, old
    list_sessions: { own: [may, may, may, may], other: [alien, alien, may, may] },
    export_account: { own: [may, may, may, may], other: [alien, alien, alien, alien] },
    end_sessions: { own: [may, may, may, may], other: [alien, alien, may, old] },
    change_access: { own: [may, old, may, old], other: [alien, alien, alien, alien] },
    change_factors: { own: [may, old, may, old], other: [alien, alien, alien, alien] },
    reset_factors: { own: [alien, alien, alien, alien], other: [alien, alien, may, old] },
    keep_factors: { own: [may, may, may, may], other: [alien, alien, may, may] },
    create_account: { own: [alien, alien, alien, alien], other: [alien, alien, may, old] },
    search_accounts: { own: [alien, alien, alien, alien], other: [alien, alien, may, may] },
    change_account: { own: [alien, alien, may, old], other: [alien, alien, may, old] },
    delete_account: { own: [may, old, may, old], other: [alien, alien, may, old] },
  }

  it('depends on the actor, the act and the target', () => {
    const other = aUser()
    const seen = all((act) => ({
      own: Object.values(logins).map((by) => refusalOf(needs, by, act, by.user)),
      other: Object.values(logins).map((by) => refusalOf(needs, by, act, other)),
    }))
    expect(seen).to.deep.equal(table)
  })

  it('to the factors of a user who has one needs a login with it', () => {
    const by = login(false, 1)
    const proved = { ...by, credential: { ...by.credential, methods: ['pwd', 'otp', 'mfa'] } }
    const target = { ...by.user, factors: someFactors() }
    for (const act of ['change_factors', 'keep_factors'] as const) {
      expect(refusalOf(needs, by, act, target)).to.equal('SECOND_FACTOR_REQUIRED')
      expect(refusalOf(needs, proved, act, target)).to.equal(may)
    }
    const root = login(true, 1)
    const own = { ...root.user, factors: someFactors() }
    expect(refusalOf(needs, root, 'change_account', own)).to.equal('SECOND_FACTOR_REQUIRED')
  })

  it('to more than adding a factor needs a login with the one that the settings demand', () => {
    const other = aUser()
    const superusers = { ...needs, secondFactor: 'superusers' } as const
    const required = { ...needs, secondFactor: 'required' } as const
    const weak = 'SECOND_FACTOR_REQUIRED'
    const before = { list_sessions: may, end_sessions: may, change_factors: may }
    const own = { ...all(() => weak), reset_factors: alien, create_account: alien, search_accounts: alien, ...before }
    const root = logins['superuser, fresh']
    const plain = logins['user, fresh']
    expect(all((act) => refusalOf(superusers, root, act, root.user))).to.deep.equal(own)
    expect(all((act) => refusalOf(required, root, act, root.user))).to.deep.equal(own)
    expect(all((act) => refusalOf(required, plain, act, plain.user))).to.deep.equal({ ...own, change_account: alien })
    const without = all((act) => refusalOf(needs, plain, act, plain.user))
    expect(all((act) => refusalOf(superusers, plain, act, plain.user))).to.deep.equal(without)
    const ofOthers = all((act) => (refusalOf(needs, root, act, other) === alien ? alien : weak))
    expect(all((act) => refusalOf(superusers, root, act, other))).to.deep.equal(ofOthers)
    const strong = { ...root, credential: { ...root.credential, methods: ['pwd', 'otp', 'mfa'] } }
    expect(refusalOf(superusers, strong, 'change_account', other)).to.equal(may)
  })

  it('ends after 900 seconds for the own deletion and second factors, if the settings do not say when a login is fresh', () => {
    const unset = { freshLoginSeconds: null, clock }
    const ages = [900, 901].map((age) => {
      const by = login(false, age)
      return all((act) => refusalOf(unset, by, act, by.user))
    })
    const [young] = ages
    expect(ages).to.deep.equal([
      { ...young, delete_account: may, change_factors: may },
      { ...young, delete_account: old, change_factors: old },
    ])
  })

  it('needs no fresh login if the request has the password, and nothing else changes', () => {
    const by = logins['superuser, old']
    const confirmed = { isConfirmed: true }
    const foreign = ['reset_factors', 'create_account', 'search_accounts']
    const expected = all((act) => (foreign.includes(act) ? alien : may))
    expect(all((act) => refusalOf(needs, by, act, by.user, confirmed))).to.deep.equal(expected)
    const plain = logins['user, old']
    expect(refusalOf(needs, plain, 'change_account', plain.user, confirmed)).to.equal(alien)
  })

  it('needs the factor of a user who has one, for whatever gives or ends access', () => {
    const user = aUser({ factors: someFactors() })
    const by = (methods: readonly string[]): By => {
      const credential = aCredential({ userId: user.id, provedAt: clock(), methods })
      return { user, credential, backend: {} as never } // safe: as above
    }
    for (const act of ['change_access', 'change_factors', 'keep_factors', 'delete_account'] as const) {
      expect(refusalOf(needs, by(['pwd']), act, user), act).to.equal('SECOND_FACTOR_REQUIRED')
      expect(refusalOf(needs, by(['pwd', 'otp', 'mfa']), act, user), act).to.equal(may)
    }
  })

  it('belongs to programs and commands, and to no other actor without a login', () => {
    const target = aUser()
    for (const type of ['program', 'command'] as const) {
      expect(all((act) => refusalOf(needs, { type }, act, target))).to.deep.equal(all(() => may))
    }
    for (const by of [{ type: 'nobody' }, { type: 'provider', name: 'acme' }] as const) {
      expect(all((act) => refusalOf(needs, by, act, target))).to.deep.equal(all(() => 'UNAUTHORIZED'))
    }
  })
})
