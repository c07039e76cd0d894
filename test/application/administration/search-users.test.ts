import { expect } from 'chai'
import { InvalidInput, openPortcullis, type Portcullis, Refusal, toEmail, type UserSearch } from '../../../src/index.ts'
import { eventually } from '../../support/eventually.ts'
import { faultOf } from '../../support/fault-of.ts'

describe('the search of programs', () => {
  const password = 'a quite long pass phrase'
  const by = { type: 'program' } as const
  let portcullis: Portcullis
  before(async () => {
    const stores = { users: { kind: 'memory' } } as const
    portcullis = await openPortcullis({ stores, logs: { level: 'silent' } })
    for (const email of ['ada@example.com', 'grace@example.com']) {
      await portcullis.accounts.registerUser.execute({ email: toEmail(email), password, requestId: 'test' })
    }
  })
  after(() => portcullis.close())

  it('find users, page by page', async () => {
    const first = await portcullis.admin.searchUsers.execute({ by, limit: 1, counts: true })
    expect(first.count).to.deep.equal({ count: 2, isComplete: true })
    const second = await portcullis.admin.searchUsers.execute({ by, limit: 1, after: first.next })
    const emails = [...first.items, ...second.items].map(({ user }) => user.email)
    expect(emails).to.have.members(['ada@example.com', 'grace@example.com'])
    const found = await portcullis.admin.searchUsers.execute({ by, text: 'ADA', createdAfter: new Date(0) })
    expect(found.items.map(({ user }) => user.email)).to.deep.equal(['ada@example.com'])
  })

  it('are events with users.reportsLookups, with the actor', async () => {
    const seen: unknown[] = []
    const own = await openPortcullis(
      { stores: { users: { kind: 'memory' } }, logs: { level: 'silent' }, users: { reportsLookups: true } },
      { handlers: { on_after_lookup: (user, context) => void seen.push([user.email, context.by]) } },
    )
    try {
      const email = toEmail('ada@example.com')
      await own.accounts.registerUser.execute({ email, password, requestId: 'test' })
      await own.admin.searchUsers.execute({ by, text: 'ada' })
      const { deliveries } = await own.admin.explainLogin.execute({ by, email, requestId: 'test' })
      expect(deliveries.map(({ type }) => type)).to.not.include('looked_up')
      await own.admin.searchUsers.execute({ by, text: email })
      await eventually('the look-ups are reported', () => seen.length > 1)
      const lookup = [email, { type: 'program' }]
      expect(seen).to.deep.equal([lookup, lookup])
    } finally {
      await own.close()
    }
  })

  it('refuse wrong values, whatever their types', async () => {
    for (const wrong of [
      { text: 5 },
      { text: { $gt: '' } },
      { text: 'a\0' },
      { text: '\ud800' },
      { text: 'a'.repeat(255) },
      { limit: 0 },
      { limit: 101 },
      { limit: 1.5 },
      { limit: '5' },
      { isActive: 'true' },
      { hasFactor: 1 },
      { createdAfter: '2026-01-01' },
      { createdBefore: new Date(Number.NaN) },
      { lastLoginBefore: { $lt: 1 } },
      { after: 5 },
      { after: 'x' },
      { after: '[7,null]' },
      { after: '[0,"{}"]' },
    ]) {
      const input = { by, ...wrong } as unknown as UserSearch // not safe: this is the test
      expect(await faultOf(portcullis.admin.searchUsers.execute(input)), JSON.stringify(wrong)).to.be.instanceOf(
        InvalidInput,
      )
    }
  })

  it('refuse everybody without the right', async () => {
    const { accounts, admin } = portcullis
    const email = toEmail('ada@example.com')
    const [backend] = accounts.backends.values()
    if (backend === undefined) throw new Error('there is no backend')
    const login = await accounts.logIn.execute({ backend, email, password, requestId: 'test' })
    if (login.type !== 'granted') throw new Error(`the login is ${login.type}`)
    const plain = await accounts.authenticate.execute([{ backend, value: login.issued.value }])
    for (const [actor, code] of [
      [plain, 'FORBIDDEN'],
      [null, 'UNAUTHORIZED'],
      [undefined, 'UNAUTHORIZED'],
      [{ type: 'nobody' }, 'UNAUTHORIZED'],
    ] as const) {
      const input = { by: actor, text: email } as unknown as UserSearch // not safe: this is the test
      const fault = await faultOf(admin.searchUsers.execute(input))
      expect(fault instanceof Refusal && fault.code).to.equal(code)
    }
  })
})
