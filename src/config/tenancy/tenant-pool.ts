import { setTimeout as delay } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Logger } from '../../adapters/logging/log.ts'
import { Unavailable } from '../../domain/refusal.ts'
import { stores } from '../plugins/stores.ts'
import { SettingsFault } from '../settings/schema/fault.ts'
import type { Settings } from '../settings/schema/schema.ts'
import { defaultTenant, type LoadedTenants, type TenantSettings } from '../settings/tenants.ts'
import { type Closable, type Open, type OpenTenants, whenReady } from './directory.ts'
import { inTime } from './in-time.ts'
import { leavingTenants } from './leaving-tenants.ts'
import { roomFor } from './room.ts'
import { notInOrder, type Slot } from './tenant-slot.ts'
import { closedTenants } from './wake-schedule.ts'

interface Needs<T extends Closable> {
  readonly tenants: LoadedTenants
  readonly limits: Pick<Settings['tenants'], 'maxOpen' | 'idleSeconds' | 'scanSeconds'>
  /** For a process that only delivers: tenants stay open, and beyond `maxOpen` take turns. */
  readonly keepsOpen?: boolean
  /** After so long an opening has failed; 10 unless given. */
  readonly openingSeconds?: number
  readonly open: Open<T>
  readonly log: Logger
  readonly clock: () => Date
}

const roomPatienceSeconds = 10
/** From when there is room. A store that does not answer takes no longer: its tenant opens without it. */
const openingPatienceMilliseconds = 2_000
/** What falls due while a scan looks gets so long to be delivered before the tenant is closed again. */
const settleSeconds = 5
const settlePollMilliseconds = 50
/** Between two rounds through more tenants than may be open. */
const turnMilliseconds = 1000
/** Opens tenants on first use, at most `maxOpen`, and closes those that nobody uses. */
export function tenantPool<T extends Closable>(needs: Needs<T>): OpenTenants<T> {
  const { limits, log, clock, keepsOpen = false, openingSeconds = 10 } = needs
  let { tenants } = needs
  const room = roomFor(limits.maxOpen)
  /** Those that new calls are let into. */
  const slots = new Map<string, Slot<T>>()
  let isDelivering = false
  let isClosed = false
  const closed = closedTenants({
    ids: () => [...tenants.enabled.keys()].filter((id) => !slots.has(id)),
    has: (id) => tenants.enabled.has(id) && !slots.has(id),
    lookAfter,
    pauseMilliseconds() {
      const takesTurns = keepsOpen && tenants.enabled.size > limits.maxOpen
      return takesTurns ? turnMilliseconds : limits.scanSeconds * 1000
    },
    clock,
  })
  const leaving = leavingTenants<T>({
    mostLingering: limits.maxOpen,
    mayReopen,
    setAlarm: closed.setAlarm,
    leavePlace,
    log,
  })
  const idleCheck = keepsOpen ? undefined : setInterval(closeIdle, (limits.idleSeconds * 1000) / 4).unref()

  function settingsOf(id: string): TenantSettings {
    const settings = tenants.enabled.get(id)
    if (settings === undefined) {
      const cause = new SettingsFault(tenants.disabled.get(id) ?? [])
      throw new Unavailable(`the tenant ${id}, which is disabled`, { cause })
    }
    return settings
  }

  /** Counts the caller in. Waits while the tenant is being opened. */
  async function enter(id: string, isBackground: boolean): Promise<{ slot: Slot<T>; opened: T }> {
    if (isClosed) throw new Unavailable('the process is stopping')
    const slot = slots.get(id) ?? begin(settingsOf(id))
    slot.users++
    if (!isBackground) slot.lastUsed = performance.now()
    try {
      const isPatient = isBackground || slot.tenant !== null
      const opened = await (isPatient ? slot.opened : Promise.race([slot.opened, slot.patience]))
      if (leaving.isHurried) throw new Unavailable('the process is stopping')
      return { slot, opened }
    } catch (error) {
      leave(slot)
      throw error instanceof Unavailable ? error : new Unavailable(`the tenant ${id}`, { cause: error })
    }
  }

  function leave(slot: Slot<T>): void {
    slot.users--
    if (slot.users > 0) return
    slot.abandoned()
    if (room.waiting > 0) makeRoom()
  }

  function begin(settings: TenantSettings): Slot<T> {
    const { id } = settings
    closed.clearAlarm(id)
    let outOfPatience = (): void => undefined
    const slot: Slot<T> = {
      settings,
      opened: Promise.resolve().then(() => open(slot, outOfPatience)),
      patience: new Promise((_, reject) => {
        outOfPatience = () => reject(new Unavailable(`the tenant ${id}, which is being opened`))
      }),
      hasPlace: false,
      tenant: null,
      users: 0,
      lastUsed: 0,
      leaving: null,
      abandoned: () => undefined,
    }
    slots.set(id, slot)
    slot.patience.catch(() => undefined)
    slot.opened.catch((err: unknown) => log.error({ err, tenant: id }, 'a tenant cannot be opened'))
    return slot
  }

  function forget(slot: Slot<T>): void {
    const { id } = slot.settings
    if (slots.get(id) === slot) slots.delete(id)
  }

  async function open(slot: Slot<T>, outOfPatience: () => void): Promise<T> {
    await placeFor(slot)
    const patience = setTimeout(outOfPatience, openingPatienceMilliseconds)
    try {
      const opened = await openInTime(slot)
      slot.tenant = opened
      if (isDelivering) opened.startDeliveries()
      return opened
    } catch (thrown) {
      leavePlace(slot)
      throw thrown
    } finally {
      clearTimeout(patience)
    }
  }

  async function placeFor(slot: Slot<T>): Promise<void> {
    // Where all are in use, one takes no more requests after a second.
    const stillNone = (): void => {
      if (room.waiting > leaving.vacating()) closeLeastRecentlyUsed(() => true)
    }
    const entering = room.enter(roomPatienceSeconds, stillNone)
    makeRoom()
    try {
      await entering
      slot.hasPlace = true
    } catch (thrown) {
      forget(slot)
      throw thrown
    }
  }

  function leavePlace(slot: Slot<T>): void {
    slot.hasPlace = false
    room.leave()
  }

  /**
   * An opening that nothing ends may hold a thread of the process: the tenant is not opened anew before that, and
   * unavailable until then.
   */
  async function openInTime(slot: Slot<T>): Promise<T> {
    const { settings } = slot
    const opening = needs.open(settings, (fault) => giveUp(slot, fault))
    const opened = await inTime(opening, openingSeconds * 1000).catch((thrown: unknown) => {
      forget(slot) // the next request tries again
      throw thrown
    })
    if (opened !== 'late') return opened
    const closed = opening.then((opened) => opened.close())
    void closed.catch((err: unknown) => log.error({ err, tenant: settings.id }, notInOrder)).then(() => forget(slot))
    throw new Unavailable(`the tenant ${settings.id}, whose opening takes too long`)
  }

  /** Closes one that nobody uses for each that waits for room. */
  function makeRoom(): void {
    while (room.waiting > leaving.vacating() && closeLeastRecentlyUsed(({ users }) => users === 0));
  }

  /** Answers whether there is one that may be closed. */
  function closeLeastRecentlyUsed(suits: (slot: Slot<T>) => boolean): boolean {
    const [oldest] = [...slots.values()]
      .filter((slot) => mayClose(slot) && suits(slot))
      .sort((one, other) => one.lastUsed - other.lastUsed)
    if (oldest !== undefined) void closeSlot(oldest)
    return oldest !== undefined
  }

  /** What a request has left in memory would be lost. */
  function mayClose({ tenant, lastUsed, settings }: Slot<T>): boolean {
    return tenant !== null && (lastUsed === 0 || keepsAll(settings))
  }

  function closeIdle(): void {
    const before = performance.now() - limits.idleSeconds * 1000
    for (const slot of slots.values()) {
      if (mayClose(slot) && slot.users === 0 && slot.lastUsed < before) void closeSlot(slot)
    }
  }

  function giveUp(slot: Slot<T>, err: unknown): void {
    log.error({ err, tenant: slot.settings.id }, 'a tenant has to be closed')
    void closeSlot(slot)
  }

  /** Lets nobody new in, waits for those inside, and closes. Never rejects. */
  function closeSlot(slot: Slot<T>): Promise<void> {
    forget(slot)
    return leaving.close(slot)
  }

  function mayReopen(): boolean {
    return isDelivering && !isClosed
  }

  /** Opens a tenant for what is due in it, and closes it when nobody else has come for it. */
  async function lookAfter(id: string): Promise<void> {
    const { slot, opened } = await enter(id, true)
    try {
      await opened.oneRound()
      await settled(opened)
    } finally {
      leave(slot)
    }
    if (!keepsOpen && slot.users === 0 && slot.lastUsed === 0) await closeSlot(slot)
  }

  async function settled({ nextDue }: Closable): Promise<void> {
    const until = performance.now() + settleSeconds * 1000
    while (performance.now() < until && !isClosed) {
      const due = await nextDue().catch(() => null)
      if (due === null || due > clock()) return
      await delay(settlePollMilliseconds)
    }
  }

  async function inspect<R>(id: string, work: (opened: T) => Promise<R>): Promise<R> {
    const { slot, opened } = await enter(id, false)
    try {
      return await work(opened)
    } finally {
      slot.lastUsed = performance.now()
      leave(slot)
    }
  }

  logDisabled(log, tenants)
  return {
    // Settings may hold what is no name, and it is nobody's all the same.
    knows: (id) => id !== '' && (tenants.enabled.has(id) || tenants.disabled.has(id)),

    inspect,
    use: (id, work) => inspect(id, (opened) => whenReady(opened, work)),

    async prepare() {
      if (!tenants.enabled.has(defaultTenant)) return
      await inspect(defaultTenant, async () => undefined).catch(() => undefined) // the log has the reason
    },

    startDeliveries() {
      isDelivering = true
      for (const { tenant } of slots.values()) tenant?.startDeliveries()
      closed.begin()
    },

    replace(changed) {
      const old = tenants.enabled
      tenants = changed
      logDisabled(log, changed)
      for (const slot of slots.values()) {
        const { id } = slot.settings
        if (!isDeepStrictEqual(old.get(id), changed.enabled.get(id))) void closeSlot(slot)
      }
      if (mayReopen()) void closed.round()
    },

    counts: () => ({
      open: [...slots.values()].filter(({ tenant }) => tenant !== null).length,
      disabled: tenants.disabled.size,
    }),

    async close(graceSeconds) {
      isClosed = true
      room.shut()
      clearInterval(idleCheck)
      closed.end()
      for (const slot of slots.values()) void closeSlot(slot)
      await leaving.end(graceSeconds)
    },
  }
}

/** Whether its stores have nothing that ends with them. */
function keepsAll({ settings }: TenantSettings): boolean {
  return Object.values(settings.stores).every(({ kind }) => stores.find((one) => one.kind === kind)?.placeOf)
}

function logDisabled(log: Logger, { disabled }: LoadedTenants): void {
  for (const [tenant, faults] of disabled) log.error({ tenant, faults }, 'a tenant is disabled')
}
