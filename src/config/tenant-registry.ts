import { setTimeout as delay } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { Unavailable } from '../domain/refusal.ts'
import type { LoadedTenants, TenantSettings } from './load-tenants.ts'
import type { Logger } from './log.ts'
import type { OpenTenant } from './open-tenant.ts'
import type { Settings } from './settings.ts'

/** What is kept of a tenant while it is open. */
export interface Opened {
  readonly tenant: OpenTenant
}

interface Needs<T extends Opened> {
  readonly tenants: LoadedTenants
  readonly limits: Pick<Settings['tenants'], 'maxOpen' | 'idleSeconds' | 'scanSeconds'>
  /** For a process that only delivers: tenants stay open, and beyond `maxOpen` take turns. */
  readonly keepsOpen?: boolean
  readonly open: (settings: TenantSettings, failed: (fault: unknown) => void) => Promise<T>
  readonly log: Logger
  readonly clock: () => Date
}

export interface TenantRegistry<T extends Opened> {
  /** Whether there is such a tenant, served or disabled. */
  knows(id: string): boolean
  /**
   * Does `work` with the tenant, which is opened when it is not, and not closed meanwhile. Throws `Unavailable` when
   * it is disabled or cannot be opened.
   */
  use<R>(id: string, work: (opened: T) => Promise<R>): Promise<R>
  /** From now on closed tenants are opened when something in them falls due, all of them at the beginning and now and then. */
  startScanning(): void
  /** Takes up changed settings: tenants that are gone or changed are closed once their requests have ended. */
  replace(tenants: LoadedTenants): void
  counts(): { readonly open: number; readonly disabled: number }
  close(graceSeconds: number): Promise<void>
}

/** A tenant that is open, being opened or being closed. */
interface Slot<T> {
  readonly settings: TenantSettings
  readonly opened: Promise<T>
  isOpen: boolean
  /** Calls that are using it. */
  users: number
  /** By `performance.now`. */
  lastUsed: number
  /** Set once nobody new is let in. */
  leaving: Promise<void> | null
  /** Called when the last user has gone. */
  abandoned: () => void
}

const openedAtOnce = 4
/** What falls due while a scan looks gets so long to be delivered before the tenant is closed again. */
const settleSeconds = 5
const settlePollMilliseconds = 50
/** Between two rounds through more tenants than may be open. */
const turnMilliseconds = 1000
/** A delivery in hand may end before a tenant that is not needed any more is closed. */
const deliveryGraceSeconds = 10
const longestTimerMilliseconds = 2 ** 31 - 1

/** Opens tenants on first use, at most `maxOpen`, and closes those that nobody uses. */
export function tenantRegistry<T extends Opened>(needs: Needs<T>): TenantRegistry<T> {
  const { limits, log, clock, keepsOpen = false } = needs
  let { tenants } = needs
  const slots = new Map<string, Slot<T>>()
  const alarms = new Map<string, NodeJS.Timeout>()
  let isScanning = false
  let isClosed = false
  let scans: NodeJS.Timeout | undefined
  const idleCheck = keepsOpen ? undefined : setInterval(closeIdle, (limits.idleSeconds * 1000) / 4).unref()

  function settingsOf(id: string): TenantSettings {
    const settings = tenants.enabled.get(id)
    if (settings === undefined) throw new Unavailable(`the tenant ${id}, which is disabled`)
    return settings
  }

  /** Counts the caller in. Waits while the tenant is closing or being opened. */
  async function enter(id: string, isBackground: boolean): Promise<{ slot: Slot<T>; opened: T }> {
    for (;;) {
      if (isClosed) throw new Unavailable('the service is stopping')
      const slot = slots.get(id) ?? begin(settingsOf(id))
      if (slot.leaving !== null) {
        await slot.leaving
        continue
      }
      slot.users++
      if (!isBackground) slot.lastUsed = performance.now()
      try {
        return { slot, opened: await slot.opened }
      } catch (error) {
        leave(slot)
        if (error instanceof Unavailable) throw error
        throw new Unavailable(`the tenant ${id}`, { cause: error })
      }
    }
  }

  function leave(slot: Slot<T>): void {
    slot.users--
    if (slot.users === 0) slot.abandoned()
  }

  function begin(settings: TenantSettings): Slot<T> {
    const { id } = settings
    clearTimeout(alarms.get(id))
    alarms.delete(id)
    const slot: Slot<T> = {
      settings,
      opened: Promise.resolve().then(async () => {
        await makeRoom()
        return needs.open(settings, (fault) => giveUp(slot, fault))
      }),
      isOpen: false,
      users: 0,
      lastUsed: 0,
      leaving: null,
      abandoned: () => undefined,
    }
    slots.set(id, slot)
    slot.opened.then(
      () => {
        slot.isOpen = true
      },
      (err: unknown) => {
        slots.delete(id) // not kept: the next request tries again
        log.error({ err, tenant: id }, 'a tenant cannot be opened')
      },
    )
    return slot
  }

  async function makeRoom(): Promise<void> {
    while (slots.size > limits.maxOpen) {
      const closing = [...slots.values()].flatMap(({ leaving }) => leaving ?? [])
      const next = closing.length > 0 ? Promise.race(closing) : closeLeastRecentlyUsed()
      if (next === null) return // all the others are being opened
      await next
    }
  }

  function closeLeastRecentlyUsed(): Promise<void> | null {
    const candidates = [...slots.values()].filter(({ isOpen, leaving }) => isOpen && leaving === null)
    const [oldest] = candidates.sort((one, other) => one.lastUsed - other.lastUsed)
    return oldest === undefined ? null : closeSlot(oldest)
  }

  function closeIdle(): void {
    const before = performance.now() - limits.idleSeconds * 1000
    for (const slot of slots.values()) {
      if (slot.isOpen && slot.users === 0 && slot.lastUsed < before) void closeSlot(slot)
    }
  }

  function giveUp(slot: Slot<T>, err: unknown): void {
    log.error({ err, tenant: slot.settings.id }, 'a tenant has to be closed')
    void closeSlot(slot)
  }

  /** Lets nobody new in, waits for those inside, and closes. Never rejects. */
  function closeSlot(slot: Slot<T>, graceSeconds = deliveryGraceSeconds): Promise<void> {
    slot.leaving ??= ended(slot, graceSeconds).finally(() => slots.delete(slot.settings.id))
    return slot.leaving
  }

  async function ended(slot: Slot<T>, graceSeconds: number): Promise<void> {
    const { id } = slot.settings
    const opened = await slot.opened.catch(() => null)
    if (opened === null) return
    if (slot.users > 0) {
      await new Promise<void>((resolve) => {
        slot.abandoned = resolve
      })
    }
    const { tenant } = opened
    try {
      await tenant.stopDeliveries(graceSeconds)
      if (isScanning && tenants.enabled.has(id)) await setAlarm(tenant)
      await tenant.close()
    } catch (err) {
      log.error({ err, tenant: id }, 'a tenant was not closed in order')
    }
  }

  /** Before its store is out of reach: when is it to be opened again, if nobody asks for it? */
  async function setAlarm({ id, nextDue }: OpenTenant): Promise<void> {
    const due = await nextDue().catch(() => null) // the next scan sees what a dead store kept from us
    if (due === null || isClosed) return
    const wait = Math.max(0, due.getTime() - clock().getTime())
    alarms.set(id, setTimeout(() => void lookAfter(id), Math.min(wait, longestTimerMilliseconds)).unref())
  }

  /** Opens a tenant for what is due in it, and closes it when nobody else has come for it. */
  async function lookAfter(id: string): Promise<void> {
    try {
      const { slot, opened } = await enter(id, true)
      await settled(opened.tenant)
      leave(slot)
      if (!keepsOpen && slot.users === 0 && slot.lastUsed === 0) await closeSlot(slot)
    } catch {
      // It was logged where it was opened.
    }
  }

  async function settled({ nextDue }: OpenTenant): Promise<void> {
    const until = performance.now() + settleSeconds * 1000
    while (performance.now() < until && !isClosed) {
      const due = await nextDue().catch(() => null)
      if (due === null || due > clock()) return
      await delay(settlePollMilliseconds)
    }
  }

  async function scan(): Promise<void> {
    const waiting = [...tenants.enabled.keys()].filter((id) => !slots.has(id))
    const lanes = Array.from({ length: openedAtOnce }, async () => {
      for (let id = waiting.shift(); id !== undefined && !isClosed; id = waiting.shift()) await lookAfter(id)
    })
    await Promise.all(lanes)
  }

  async function scanForEver(): Promise<void> {
    await scan()
    if (isClosed) return
    const takesTurns = keepsOpen && tenants.enabled.size > limits.maxOpen
    scans = setTimeout(() => void scanForEver(), takesTurns ? turnMilliseconds : limits.scanSeconds * 1000).unref()
  }

  return {
    knows: (id) => tenants.enabled.has(id) || tenants.disabled.has(id),

    async use(id, work) {
      const { slot, opened } = await enter(id, false)
      try {
        return await work(opened)
      } finally {
        slot.lastUsed = performance.now()
        leave(slot)
      }
    },

    startScanning() {
      isScanning = true
      void scanForEver()
    },

    replace(changed) {
      const old = tenants.enabled
      tenants = changed
      for (const slot of slots.values()) {
        const { id } = slot.settings
        if (!isDeepStrictEqual(old.get(id), changed.enabled.get(id))) void closeSlot(slot)
      }
      if (isScanning) void scan()
    },

    counts: () => ({
      open: [...slots.values()].filter(({ isOpen }) => isOpen).length,
      disabled: tenants.disabled.size,
    }),

    async close(graceSeconds) {
      isClosed = true
      clearInterval(idleCheck)
      clearTimeout(scans)
      for (const alarm of alarms.values()) clearTimeout(alarm)
      await Promise.all([...slots.values()].map((slot) => closeSlot(slot, graceSeconds)))
    },
  }
}

export function logDisabled(log: Logger, { disabled }: LoadedTenants): void {
  for (const [tenant, faults] of disabled) log.error({ tenant, faults }, 'a tenant is disabled')
}
