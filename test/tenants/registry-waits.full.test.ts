// What the registry of tenants does after a time: mostly waiting, and so all at the same time.
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import { Unavailable } from '../../src/domain/refusal.ts'
import { eventually } from '../support/eventually.ts'
import { inTime } from '../support/in-time.ts'
import { type OpenRegistry, openRegistry, someTenants } from '../support/open-registry.ts'
import { together } from '../support/together.ts'

type Open = typeof openRegistry

const nothing = async () => undefined

/** What a call that fails throws. */
const thrownBy = (action: Promise<unknown>): Promise<unknown> =>
  action.then(
    () => 'nothing',
    (thrown: unknown) => thrown,
  )

describe('the registry of tenants, as time goes by,', () => {
  together(
    [
      {
        title: 'asks no more to make room than there are who wait, though their requests take long',
        run: askNoMoreThanWait,
      },
      { title: 'asks one to make room that is in use without a pause, after a second', run: askWhoIsAlwaysInUse },
      {
        title: 'delivers what is in hand while its place is another’s, of no more tenants than may be open',
        run: deliverWhatIsInHand,
      },
      { title: 'stops in time, though an opening hangs', run: stopAmidOpening },
      { title: 'delivers slowly, and lets a cold tenant open without waiting for that', run: deliverSlowly },
      { title: 'stops in time, though a request and a handler hang', run: stopAmidRequests },
    ].map(({ title, run }) => ({ title, run: () => closingAll(run) })),
  )
})

/** That nothing is open once all registries are closed that `run` has opened. */
async function closingAll(run: (open: Open) => Promise<void>): Promise<void> {
  const opened: OpenRegistry[] = []
  try {
    await run(async (wanted) => {
      const one = await openRegistry(wanted)
      opened.push(one)
      return one
    })
  } finally {
    await Promise.all(opened.map(({ registry }) => registry.close(1)))
  }
  expect(opened.map(({ open }) => open.now)).to.deep.equal(opened.map(() => 0))
}

async function askNoMoreThanWait(open: Open): Promise<void> {
  const { registry } = await open({ list: someTenants(4), limits: { maxOpen: 3 } })
  const { promise: end, resolve: endAll } = Promise.withResolvers<void>()
  const slow = ['tenant-0', 'tenant-1', 'tenant-2'].map((id) => registry.use(id, () => end))
  await eventually('three open', () => registry.counts().open === 3)
  const waiting = registry.use('tenant-3', nothing)
  await eventually('one takes no more requests', () => registry.counts().open === 2)
  await delay(2200)
  expect(registry.counts().open, 'two go on').to.equal(2)
  endAll()
  await Promise.all([...slow, waiting])
}

async function askWhoIsAlwaysInUse(open: Open): Promise<void> {
  const { registry } = await open({ list: someTenants(2), limits: { maxOpen: 1 } })
  const uses: Promise<unknown>[] = []
  let isOver = false
  const pouring = (async () => {
    for (; !isOver; await delay(100)) uses.push(registry.use('tenant-0', () => delay(250)))
  })()
  await registry.use('tenant-0', nothing)
  const begun = performance.now()
  await registry.use('tenant-1', nothing)
  expect(performance.now() - begun).to.be.within(990, inTime)
  isOver = true
  await pouring
  await Promise.all(uses)
}

async function deliverWhatIsInHand(open: Open): Promise<void> {
  const ends = new Map<string, () => void>()
  const {
    registry,
    addUser,
    called,
    calls,
    open: counted,
    lookedAt,
  } = await open({
    list: someTenants(3),
    limits: { maxOpen: 1 },
    handle: ({ context }) => new Promise((resolve) => ends.set(context.tenant, resolve)),
  })
  registry.startDeliveries()
  await lookedAt(3)
  for (const id of ['tenant-0', 'tenant-1']) {
    await addUser(id)
    await called(id)
  }
  let isThird = false
  const third = registry.use('tenant-2', async () => {
    isThird = true
  })
  await delay(900)
  expect([counted.now, isThird]).to.deep.equal([2, false])
  ends.get('tenant-1')?.()
  await third
  ends.get('tenant-0')?.()
  await eventually('the first closed', () => counted.now === 1)
  expect(counted.most).to.equal(2)
  expect(calls).to.have.lengthOf(2)
}

async function stopAmidOpening(open: Open): Promise<void> {
  let begin = (): void => undefined
  const begun = new Promise<void>((resolve) => {
    begin = resolve
  })
  const { registry, openings, open: counted } = await open({ list: someTenants(1), before: () => begun })
  const failed = thrownBy(registry.use('tenant-0', nothing))
  await eventually('it is being opened', () => openings.length === 1)
  const asked = performance.now()
  await registry.close(0.5)
  expect(performance.now() - asked).to.be.within(450, inTime)
  begin()
  await eventually('what opened late is closed', () => counted.now === 0)
  expect(await failed).to.be.instanceOf(Unavailable)
}

async function deliverSlowly(open: Open): Promise<void> {
  const { registry, addUser, called, lookedAt } = await open({
    list: someTenants(3),
    limits: { maxOpen: 2 },
    handle: () => delay(3000),
  })
  registry.startDeliveries()
  await lookedAt(3)
  for (const id of ['tenant-0', 'tenant-1']) await addUser(id)
  for (const id of ['tenant-0', 'tenant-1']) await called(id)
  const begun = performance.now()
  await registry.use('tenant-2', nothing)
  expect(performance.now() - begun).to.be.below(2900)
}

async function stopAmidRequests(open: Open): Promise<void> {
  const { registry, addUser, called } = await open({
    list: someTenants(2),
    handle: () => new Promise(() => undefined),
  })
  registry.startDeliveries()
  await addUser('tenant-0')
  await called('tenant-0')
  void registry.use('tenant-1', () => new Promise(() => undefined))
  void registry.use('tenant-0', () => new Promise(() => undefined))
  await eventually('both open', () => registry.counts().open === 2)
  const begun = performance.now()
  await registry.close(0.5)
  expect(performance.now() - begun).to.be.within(450, inTime)
}
