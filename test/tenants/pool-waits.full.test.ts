// Cases that mostly wait, so they run at the same time.
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import { Unavailable } from '../../src/domain/refusal.ts'
import { eventually } from '../support/eventually.ts'
import { faultOf } from '../support/fault-of.ts'
import { inTime } from '../support/in-time.ts'
import { nothing, pools, someTenants } from '../support/services/tenant-pool.ts'
import { together } from '../support/together.ts'

type Open = ReturnType<typeof pools>['open']

describe('the pool of tenants, within its time-outs', () => {
  together(
    [
      { title: 'closes a tenant that is always in use when another tenant needs its place', run: closeTheOneInUse },
      { title: 'opens a tenant while deliveries of closed tenants take long', run: openBesideSlowDeliveries },
      { title: 'delivers once what takes longer than others wait for a place', run: deliverSlowly },
      { title: 'stops although an opening hangs', run: stopAmidOpening },
      { title: 'stops although requests and a handler hang', run: stopAmidRequests },
    ].map(({ title, run }) => ({
      title,
      async run() {
        const { open, closeAll } = pools()
        await run(open).finally(closeAll)
      },
    })),
  )
})

async function closeTheOneInUse(open: Open): Promise<void> {
  const { pool } = await open({ list: someTenants(2), limits: { maxOpen: 1 } })
  const uses: Promise<unknown>[] = []
  let isOver = false
  const pouring = (async () => {
    for (; !isOver; await delay(100)) uses.push(pool.use('tenant-0', () => delay(250)))
  })()
  await pool.use('tenant-0', nothing)
  await pool.use('tenant-1', nothing)
  isOver = true
  await pouring
  await Promise.all(uses)
}

async function openBesideSlowDeliveries(open: Open): Promise<void> {
  const done = Promise.withResolvers<void>()
  const { pool, addUser, called, lookedAt } = await open({
    list: someTenants(3),
    limits: { maxOpen: 2 },
    handle: () => done.promise,
  })
  pool.startDeliveries()
  await lookedAt(3)
  for (const id of ['tenant-0', 'tenant-1']) await addUser(id)
  for (const id of ['tenant-0', 'tenant-1']) await called(id)
  await pool.use('tenant-2', nothing)
  done.resolve()
}

async function deliverSlowly(open: Open): Promise<void> {
  const list = someTenants(1)
  const first = await open({ list })
  await first.addUser('tenant-0')
  await first.pool.close(1)

  const done = Promise.withResolvers<void>()
  const { pool, calls, lookedAt } = await open({ list, folder: first.folder, handle: () => done.promise })
  pool.startDeliveries()
  await eventually('the call', () => calls.length === 1)
  await delay(11_000)
  done.resolve()
  await lookedAt(1)
  expect(calls).to.have.lengthOf(1)
}

async function stopAmidOpening(open: Open): Promise<void> {
  const begun = Promise.withResolvers<void>()
  const { pool, openings, open: counted } = await open({ list: someTenants(1), before: () => begun.promise })
  const failed = faultOf(pool.use('tenant-0', nothing))
  await eventually('it is being opened', () => openings.length === 1)
  const asked = performance.now()
  await pool.close(0.5)
  expect(performance.now() - asked).to.be.below(inTime)
  begun.resolve()
  await eventually('the late opening is closed', () => counted.now === 0)
  expect(await failed).to.be.instanceOf(Unavailable)
}

async function stopAmidRequests(open: Open): Promise<void> {
  const never = () => new Promise<void>(() => undefined)
  const { pool, addUser, called } = await open({ list: someTenants(2), handle: never })
  pool.startDeliveries()
  await addUser('tenant-0')
  await called('tenant-0')
  void pool.use('tenant-0', never)
  void pool.use('tenant-1', never)
  await eventually('both open', () => pool.counts().open === 2)
  const asked = performance.now()
  await pool.close(0.5)
  expect(performance.now() - asked).to.be.below(inTime)
}
