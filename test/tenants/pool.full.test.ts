import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import { Unavailable } from '../../src/domain/refusal.ts'
import { eventually } from '../support/eventually.ts'
import { faultOf } from '../support/fault-of.ts'
import { goodSecret } from '../support/services/settings.ts'
import { nothing, pools, someTenants } from '../support/services/tenant-pool.ts'

describe('the pool of tenants', () => {
  const { open, closeAll } = pools()
  afterEach(closeAll)

  describe('opens a tenant', () => {
    it('once for fifty concurrent requests, and not before the first request', async () => {
      const { pool, openings, open: counted } = await open({ list: someTenants(2) })
      expect(counted.now).to.equal(0)
      const ids = Array.from({ length: 50 }, () => pool.use('tenant-0', async ({ tenant }) => tenant.id))
      expect(new Set(await Promise.all(ids))).to.deep.equal(new Set(['tenant-0']))
      expect(openings).to.deep.equal(['tenant-0'])
      expect(pool.counts()).to.deep.equal({ open: 1, disabled: 0 })
    })

    it('after a failure, when the operator has removed the broken file', async () => {
      const { pool, folder, openings, logLines } = await open({
        list: { acme: {}, bolt: {} },
        limits: { maxOpen: 2 },
      })
      const own = join(folder, 'data', 'tenants', 'acme')
      await mkdir(own, { recursive: true, mode: 0o700 })
      await writeFile(join(own, 'portcullis.sqlite'), 'no database, but long enough to be taken for one'.repeat(99))
      expect(await faultOf(pool.use('acme', nothing))).to.be.instanceOf(Unavailable)
      expect(await faultOf(pool.use('acme', nothing))).to.be.instanceOf(Unavailable)
      expect(openings).to.deep.equal(['acme', 'acme'])
      expect(logLines.filter((line) => line.includes('a tenant cannot be opened'))).to.have.lengthOf(2)
      await pool.use('bolt', nothing)

      await rm(join(own, 'portcullis.sqlite'))
      await pool.use('acme', nothing)
      expect(pool.counts().open).to.equal(2)
    })

    it('only with the secret of its first start', async () => {
      const { pool, settingsOf } = await open({ list: { acme: { secret: goodSecret }, bolt: {} } })
      await pool.use('acme', nothing)
      pool.replace(await settingsOf({ acme: { secret: `another ${goodSecret}` }, bolt: {} }))
      expect(await faultOf(pool.use('acme', nothing))).to.be.instanceOf(Unavailable)
      pool.replace(await settingsOf({ acme: { secret: goodSecret }, bolt: {} }))
      await pool.use('acme', nothing)
    })

    it('within openingSeconds, and not again while a late opening still runs', async () => {
      const begun = Promise.withResolvers<void>()
      const {
        pool,
        openings,
        logLines,
        open: counted,
      } = await open({
        list: someTenants(2),
        limits: { maxOpen: 1 },
        openingSeconds: 5,
        before: (id) => (id === 'tenant-0' && openings.length === 1 ? begun.promise : Promise.resolve()),
      })
      const early = faultOf(pool.use('tenant-0', nothing))
      await pool.use('tenant-1', nothing) // waits for the place
      expect(await early).to.be.instanceOf(Unavailable)
      expect(logLines.some((line) => line.includes('did not open in time'))).to.equal(true)
      expect(await faultOf(pool.use('tenant-0', nothing))).to.be.instanceOf(Unavailable)
      expect(openings).to.deep.equal(['tenant-0', 'tenant-1'])
      begun.resolve()
      await eventually('the late one closed', () => counted.now === 1)
      await pool.use('tenant-0', nothing)
    })
  })

  describe('keeps at most maxOpen open', () => {
    it('and fails no request during floods of requests to all tenants', async () => {
      const list = someTenants(9)
      const { pool, open: counted, addUser, openings } = await open({ list, limits: { maxOpen: 3 } })
      const users = await Promise.all(Object.keys(list).map(async (id) => ({ id, user: await addUser(id) })))
      const asked = Array.from({ length: 5 }, () => users).flat()
      const found = await Promise.all(
        asked.map(({ id, user }) => pool.use(id, ({ tenant }) => tenant.ports.users.find(user.id))),
      )
      expect(found.map((user) => user?.email)).to.deep.equal(asked.map(({ user }) => user.email))
      expect(counted.most, 'with those that close').to.be.within(3, 6)
      expect(openings.length, 'three of them are still open from before').to.be.at.least(15)
    })

    it('by closing the least recently used one', async () => {
      const { pool, openings } = await open({ list: someTenants(3), limits: { maxOpen: 2 } })
      for (const id of ['tenant-0', 'tenant-1', 'tenant-0', 'tenant-2', 'tenant-0']) await pool.use(id, nothing)
      expect(openings).to.deep.equal(['tenant-0', 'tenant-1', 'tenant-2'])
    })

    it('and closes no tenant in use while others are unused', async () => {
      const { pool, addUser, openings } = await open({ list: someTenants(3), limits: { maxOpen: 2 } })
      const user = await addUser('tenant-0')
      const goOn = Promise.withResolvers<void>()
      const slow = pool.use('tenant-0', async ({ tenant }) => {
        await goOn.promise
        return tenant.ports.users.find(user.id)
      })
      await pool.use('tenant-1', nothing)
      await pool.use('tenant-2', nothing)
      await pool.use('tenant-0', nothing)
      expect(openings).to.deep.equal(['tenant-0', 'tenant-1', 'tenant-2'])
      goOn.resolve()
      expect((await slow)?.email).to.equal(user.email)
    })

    it('and opens a changed tenant while an old request still uses its former opening', async () => {
      const { pool, settingsOf, openings, addUser } = await open({ list: { acme: {} } })
      const user = await addUser('acme')
      const goOn = Promise.withResolvers<void>()
      const slow = pool.use('acme', async ({ tenant }) => {
        await goOn.promise
        return tenant.ports.users.find(user.id)
      })
      await pool.use('acme', nothing)
      pool.replace(await settingsOf({ acme: { passwords: { minLength: 12 } } }))
      const { minLength } = await pool.use('acme', async ({ tenant }) => tenant.settings.passwords)
      expect(minLength).to.equal(12)
      goOn.resolve()
      expect((await slow)?.email).to.equal(user.email)
      expect(openings).to.deep.equal(['acme', 'acme'])
    })
  })

  describe('closes a tenant', () => {
    it('that was unused for idleSeconds, and opens it again for the next request', async () => {
      const { pool, addUser, open: counted } = await open({ list: someTenants(2), limits: { idleSeconds: 0.2 } })
      const user = await addUser('tenant-0')
      await pool.use('tenant-1', () => delay(500)) // in use all the time
      await eventually('both closed', () => counted.now === 0)
      const found = await pool.use('tenant-0', ({ tenant }) => tenant.ports.users.find(user.id))
      expect(found?.email).to.equal(user.email)
    })

    it('only if it has no users in memory, which would be lost', async () => {
      const list = { acme: { stores: { users: { kind: 'memory' } } }, bolt: {} }
      const { pool, addUser, openings } = await open({ list, limits: { idleSeconds: 0.1, maxOpen: 2 } })
      const user = await addUser('acme')
      await delay(250)
      await pool.use('bolt', nothing)
      const found = await pool.use('acme', ({ tenant }) => tenant.ports.users.find(user.id))
      expect(found?.email).to.equal(user.email)
      expect(openings).to.deep.equal(['acme', 'bolt'])
    })
  })

  describe('delivers', () => {
    it('waiting events of all tenants after a restart, and closes the tenants again', async () => {
      const list = someTenants(6)
      const first = await open({ list })
      for (const id of Object.keys(list)) await first.addUser(id)
      await first.pool.close(1)
      expect(first.calls).to.deep.equal([])

      const { pool, called, open: counted } = await open({ list, folder: first.folder, limits: { maxOpen: 2 } })
      pool.startDeliveries()
      await Promise.all(Object.keys(list).map((id) => called(id)))
      await eventually('all closed', () => counted.now === 0)
      expect(counted.most, 'with those that close').to.be.within(2, 4)
    })

    it('events that another process wrote in a closed tenant, within scanSeconds', async () => {
      const { pool, folder, called, lookedAt } = await open({
        list: someTenants(1),
        limits: { scanSeconds: 0.3 },
      })
      pool.startDeliveries()
      await lookedAt(1)
      const other = await open({ list: someTenants(1), folder })
      await other.addUser('tenant-0')
      await other.pool.close(1)
      await called('tenant-0')
    })

    it('a postponed event of a tenant that was closed as idle', async () => {
      let failures = 4 // after the fourth, the event waits long enough for its tenant to idle out
      const { pool, addUser, called, openings, lookedAt } = await open({
        list: someTenants(1),
        limits: { idleSeconds: 0.1 },
        handle() {
          if (failures-- > 0) throw new Error('not now')
        },
      })
      pool.startDeliveries()
      await lookedAt(1)
      await addUser('tenant-0')
      await called('tenant-0', 4)
      await eventually('idled out', () => pool.counts().open === 0)
      const before = openings.length
      await called('tenant-0', 5)
      expect(openings).to.have.lengthOf(before + 1)
      await eventually('closed again', () => pool.counts().open === 0)
    })

    it('a token that was requested just before its tenant was closed for another one', async () => {
      const { pool, addUser, called, calls, openings, lookedAt } = await open({
        list: someTenants(2),
        limits: { maxOpen: 1 },
      })
      pool.startDeliveries()
      await lookedAt(2)
      const user = await addUser('tenant-0')
      await called('tenant-0')
      await pool.use('tenant-0', ({ tenant }) =>
        tenant.useCases.requestToken.execute({
          purpose: 'reset_password',
          email: user.email,
          requestId: 'a-request',
        }),
      )
      const before = openings.length
      await pool.use('tenant-1', nothing)
      await eventually('the token', () => calls.length > 1) // a slow close gives up its place before it has ended
      expect(openings.slice(before)).to.deep.equal(['tenant-1'])
      expect(calls.map(({ type }) => type)).to.deep.equal(['registered', 'reset_requested'])
    })
  })

  describe('stops', () => {
    it('while some tenants are opening and others wait for a place', async () => {
      const {
        pool,
        open: counted,
        openings,
      } = await open({
        list: someTenants(5),
        limits: { maxOpen: 2 },
        before: () => delay(100),
      })
      const uses = Promise.all(Object.keys(someTenants(5)).map((id) => faultOf(pool.use(id, () => delay(50)))))
      await delay(20)
      await pool.close(30)
      expect(counted.now).to.equal(0)
      expect(openings).to.have.lengthOf(2)
      expect((await uses).filter((fault) => fault instanceof Unavailable)).to.have.lengthOf(3)
      expect(await faultOf(pool.use('tenant-0', nothing))).to.be.instanceOf(Unavailable)
    })
  })
})
