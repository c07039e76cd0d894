import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import { Unavailable } from '../../src/domain/refusal.ts'
import { eventually } from '../support/eventually.ts'
import { type OpenRegistry, openRegistry, someTenants } from '../support/open-registry.ts'
import { goodSecret } from '../support/settings.ts'

const nothing = async () => undefined

/** What a call that fails throws; fails when it does not. */
async function thrownBy(action: Promise<unknown>): Promise<unknown> {
  const [outcome] = await Promise.allSettled([action])
  if (outcome.status === 'fulfilled') throw new Error('it succeeded')
  return outcome.reason
}

describe('the registry of tenants', () => {
  let opened: OpenRegistry[] = []
  const open = async (wanted: Parameters<typeof openRegistry>[0]): Promise<OpenRegistry> => {
    const one = await openRegistry(wanted)
    opened.push(one)
    return one
  }
  afterEach(async () => {
    await Promise.all(opened.map(({ registry }) => registry.close(1)))
    expect(opened.map(({ open }) => open.now)).to.deep.equal(opened.map(() => 0))
    opened = []
  })

  describe('opens a tenant', () => {
    it('once for fifty who come at the same time, and not before', async () => {
      const { registry, openings, open: counted } = await open({ list: someTenants(2) })
      expect(counted.now).to.equal(0)
      const ids = Array.from({ length: 50 }, () => registry.use('tenant-0', async ({ tenant }) => tenant.id))
      expect(new Set(await Promise.all(ids))).to.deep.equal(new Set(['tenant-0']))
      expect(openings).to.deep.equal(['tenant-0'])
      expect(registry.counts()).to.deep.equal({ open: 1, disabled: 0 })
    })

    it('again after it failed: a file that was no database is another one later', async () => {
      const { registry, folder, openings, logLines } = await open({
        list: { acme: {}, bolt: {} },
        limits: { maxOpen: 2 },
      })
      const own = join(folder, 'data', 'tenants', 'acme')
      await mkdir(own, { recursive: true, mode: 0o700 })
      await writeFile(join(own, 'portcullis.sqlite'), 'no database, but long enough to be taken for one'.repeat(99))
      expect(await thrownBy(registry.use('acme', nothing))).to.be.instanceOf(Unavailable)
      expect(await thrownBy(registry.use('acme', nothing))).to.be.instanceOf(Unavailable)
      expect(openings).to.deep.equal(['acme', 'acme'])
      expect(logLines.filter((line) => line.includes('a tenant cannot be opened'))).to.have.lengthOf(2)
      await registry.use('bolt', nothing)

      await rm(join(own, 'portcullis.sqlite'))
      await registry.use('acme', nothing)
      expect(registry.counts().open).to.equal(2)
    })

    it('not with another secret than it began with, and with the right one after a reload', async () => {
      const { registry, settingsOf } = await open({ list: { acme: { secret: goodSecret }, bolt: {} } })
      await registry.use('acme', nothing)
      registry.replace(await settingsOf({ acme: { secret: `another ${goodSecret}` }, bolt: {} }))
      expect(await thrownBy(registry.use('acme', nothing))).to.be.instanceOf(Unavailable)
      registry.replace(await settingsOf({ acme: { secret: goodSecret }, bolt: {} }))
      await registry.use('acme', nothing)
    })

    it('in time or not at all, and not again before a late one has ended', async () => {
      let begin = (): void => undefined
      const begun = new Promise<void>((resolve) => {
        begin = resolve
      })
      const {
        registry,
        openings,
        logLines,
        open: counted,
      } = await open({
        list: someTenants(2),
        limits: { maxOpen: 1 },
        openingSeconds: 5, // those that nothing holds up are to be in time also beside other tests
        before: () => (openings.length === 1 ? begun : Promise.resolve()),
      })
      const early = thrownBy(registry.use('tenant-0', nothing))
      await registry.use('tenant-1', nothing) // waits for the place
      expect(await early).to.be.instanceOf(Unavailable)
      expect(logLines.some((line) => line.includes('takes too long'))).to.equal(true)
      expect(await thrownBy(registry.use('tenant-0', nothing))).to.be.instanceOf(Unavailable)
      expect(openings).to.deep.equal(['tenant-0', 'tenant-1'])
      begin()
      await eventually('the late one closed', () => counted.now === 1)
      await registry.use('tenant-0', nothing)
    })

    it('for nobody when it is disabled or unknown', async () => {
      const { registry, openings } = await open({ list: { acme: { secret: 'short' } } })
      expect(registry.knows('acme')).to.equal(true)
      expect(registry.knows('nobody')).to.equal(false)
      expect(await thrownBy(registry.use('acme', nothing))).to.be.instanceOf(Unavailable)
      expect(openings).to.deep.equal([])
      expect(registry.counts()).to.deep.equal({ open: 0, disabled: 1 })
    })
  })

  describe('keeps at most maxOpen open', () => {
    it('while all are asked for at once, again and again, and fails nobody', async () => {
      const list = someTenants(20)
      const { registry, open: counted, addUser, openings } = await open({ list, limits: { maxOpen: 3 } })
      const users = await Promise.all(Object.keys(list).map(async (id) => ({ id, user: await addUser(id) })))
      const asked = Array.from({ length: 5 }, () => users).flat()
      const found = await Promise.all(
        asked.map(({ id, user }) => registry.use(id, ({ tenant }) => tenant.ports.users.find(user.id))),
      )
      expect(found.map((user) => user?.email)).to.deep.equal(asked.map(({ user }) => user.email))
      expect(counted.most, 'with those that close').to.be.within(3, 6)
      expect(openings.length, 'three of them are still open from before').to.be.at.least(37)
    })

    it('by closing the one that was used longest ago', async () => {
      const { registry, openings } = await open({ list: someTenants(3), limits: { maxOpen: 2 } })
      for (const id of ['tenant-0', 'tenant-1', 'tenant-0', 'tenant-2', 'tenant-0']) await registry.use(id, nothing)
      expect(openings).to.deep.equal(['tenant-0', 'tenant-1', 'tenant-2'])
    })

    it('and closes none in use: others go first, and it ends what it has begun', async () => {
      const { registry, addUser, openings } = await open({ list: someTenants(3), limits: { maxOpen: 2 } })
      const user = await addUser('tenant-0')
      const slow = registry.use('tenant-0', async ({ tenant }) => {
        await delay(600)
        return tenant.ports.users.find(user.id)
      })
      await registry.use('tenant-1', nothing)
      await registry.use('tenant-2', nothing)
      await registry.use('tenant-0', nothing)
      expect(openings).to.deep.equal(['tenant-0', 'tenant-1', 'tenant-2'])
      expect((await slow)?.email).to.equal(user.email)
    })

    it('and lets new requests of one that is on its way out neither wait for old ones nor meet them', async () => {
      const { registry, settingsOf, openings, addUser } = await open({ list: { acme: {} } })
      const user = await addUser('acme')
      let goOn = (): void => undefined
      const told = new Promise<void>((resolve) => {
        goOn = resolve
      })
      const slow = registry.use('acme', async ({ tenant }) => {
        await told
        return tenant.ports.users.find(user.id)
      })
      await registry.use('acme', nothing)
      registry.replace(await settingsOf({ acme: { passwords: { minLength: 12 } } }))
      const { minLength } = await registry.use('acme', async ({ tenant }) => tenant.settings.passwords)
      expect(minLength).to.equal(12)
      goOn() // not before: who had waited for the old one would wait for ever
      expect((await slow)?.email).to.equal(user.email)
      expect(openings).to.deep.equal(['acme', 'acme'])
    })
  })

  describe('closes a tenant', () => {
    it('that nobody has used for idleSeconds, and opens it for the next request', async () => {
      const { registry, addUser, open: counted } = await open({ list: someTenants(2), limits: { idleSeconds: 0.2 } })
      const user = await addUser('tenant-0')
      await registry.use('tenant-1', () => delay(500)) // in use all the time
      await eventually('both closed', () => counted.now === 0)
      const found = await registry.use('tenant-0', ({ tenant }) => tenant.ports.users.find(user.id))
      expect(found?.email).to.equal(user.email)
    })

    it('except one that keeps anything in memory alone: it would forget', async () => {
      const list = { acme: { stores: { users: { kind: 'memory' } } }, bolt: {} }
      const { registry, addUser, openings } = await open({ list, limits: { idleSeconds: 0.1, maxOpen: 2 } })
      const user = await addUser('acme')
      await delay(250)
      await registry.use('bolt', nothing)
      const found = await registry.use('acme', ({ tenant }) => tenant.ports.users.find(user.id))
      expect(found?.email).to.equal(user.email)
      expect(openings).to.deep.equal(['acme', 'bolt'])
    })

    it('after a reload that changed or removed it, and no other one', async () => {
      const { registry, settingsOf, openings } = await open({ list: someTenants(3) })
      for (const id of Object.keys(someTenants(3))) await registry.use(id, nothing)
      registry.replace(
        await settingsOf({ 'tenant-0': {}, 'tenant-1': { tokens: { resetLifetimeSeconds: 60 } }, new: {} }),
      )
      expect(registry.counts().open).to.equal(1)
      expect(registry.knows('tenant-2')).to.equal(false)
      for (const id of ['tenant-0', 'tenant-1', 'new']) await registry.use(id, nothing)
      expect(openings.slice(3)).to.deep.equal(['tenant-1', 'new'])
    })
  })

  describe('delivers', () => {
    it('in tenants that were open before deliveries began', async () => {
      const { registry, addUser, called } = await open({ list: someTenants(2) })
      await addUser('tenant-0')
      registry.startDeliveries()
      await called('tenant-0')
    })

    it('what nobody asks for any more, at once after a restart, and leaves nothing open for it', async () => {
      const list = someTenants(6)
      const first = await open({ list })
      for (const id of Object.keys(list)) await first.addUser(id)
      await first.registry.close(1)
      expect(first.calls).to.deep.equal([])

      const { registry, called, open: counted } = await open({ list, folder: first.folder, limits: { maxOpen: 2 } })
      registry.startDeliveries()
      await Promise.all(Object.keys(list).map((id) => called(id)))
      await eventually('all closed', () => counted.now === 0)
      expect(counted.most, 'with those that close').to.be.within(2, 4)
    })

    it('what another process wrote in a closed tenant, within scanSeconds', async () => {
      const { registry, folder, called, lookedAt } = await open({
        list: someTenants(1),
        limits: { scanSeconds: 0.3 },
      })
      registry.startDeliveries()
      await lookedAt(1)
      const other = await open({ list: someTenants(1), folder })
      await other.addUser('tenant-0')
      await other.registry.close(1)
      await called('tenant-0')
    })

    it('a postponed event on time, though its tenant has idled out', async () => {
      let failures = 4 // after the fourth, the event waits long enough for its tenant to idle out
      const { registry, addUser, called, openings, lookedAt } = await open({
        list: someTenants(1),
        limits: { idleSeconds: 0.1 },
        handle() {
          if (failures-- > 0) throw new Error('not now')
        },
      })
      registry.startDeliveries()
      await lookedAt(1)
      await addUser('tenant-0')
      await called('tenant-0', 4)
      await eventually('idled out', () => registry.counts().open === 0)
      const before = openings.length
      await called('tenant-0', 5)
      expect(openings).to.have.lengthOf(before + 1)
      await eventually('closed again', () => registry.counts().open === 0)
    })

    it('a token that was asked for just before its tenant made room for another', async () => {
      const { registry, addUser, called, calls, openings, lookedAt } = await open({
        list: someTenants(2),
        limits: { maxOpen: 1 },
      })
      registry.startDeliveries()
      await lookedAt(2)
      const user = await addUser('tenant-0')
      await called('tenant-0')
      await registry.use('tenant-0', ({ tenant }) =>
        tenant.useCases.requestToken.execute({
          purpose: 'reset_password',
          email: user.email,
          requestId: 'a-request',
        }),
      )
      const before = openings.length
      await registry.use('tenant-1', nothing)
      expect(openings.slice(before)).to.deep.equal(['tenant-1'])
      expect(calls.map(({ name }) => name)).to.deep.equal(['on_after_register', 'on_after_forgot_password'])
    })

    it('in a tenant that a reload brought', async () => {
      const { registry, folder, settingsOf, called, lookedAt } = await open({ list: someTenants(1) })
      const other = await open({ list: someTenants(2), folder })
      await other.addUser('tenant-1')
      registry.startDeliveries()
      await lookedAt(1)
      registry.replace(await settingsOf(someTenants(2)))
      await called('tenant-1')
    })
  })

  describe('stops', () => {
    it('while tenants are being opened and wait for room: nothing is left open, nobody waits for ever', async () => {
      const {
        registry,
        open: counted,
        openings,
      } = await open({
        list: someTenants(5),
        limits: { maxOpen: 2 },
        before: () => delay(100),
      })
      const uses = Object.keys(someTenants(5)).map((id) => thrownBy(registry.use(id, () => delay(50))))
      const failed = Promise.allSettled(uses)
      await delay(20)
      await registry.close(30)
      expect(counted.now).to.equal(0)
      expect(openings).to.have.lengthOf(2)
      expect((await failed).filter(({ status }) => status === 'fulfilled')).to.have.lengthOf(3)
      expect(await thrownBy(registry.use('tenant-0', nothing))).to.be.instanceOf(Unavailable)
    })
  })
})
