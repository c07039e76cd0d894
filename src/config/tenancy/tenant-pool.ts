import { setTimeout as delay } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Logger } from '../../adapters/logging/log.ts'
import { Unavailable } from '../../domain/refusal.ts'
import { inTime } from '../../lib/in-time.ts'
import { semaphore } from '../../lib/semaphore.ts'
import { stores } from '../plugins/stores.ts'
import { SettingsFault } from '../settings/schema/fault.ts'
import type { Settings } from '../settings/schema/schema.ts'
import { defaultTenant, type LoadedTenants, type TenantSettings } from '../settings/tenants.ts'
import { type Closable, type Open, type OpenTenants, whenReady } from './directory.ts'
import { aborted, drain, notInOrder } from './drain.ts'
import { wakeSchedule } from './wake-schedule.ts'

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

/** One opening of a tenant. A tenant can be opened anew while its former opening drains. */
interface Entry<T extends Closable> {
  readonly settings: TenantSettings
  readonly opened: Promise<T>
  /** `null` while it is being opened. */
  tenant: T | null
  /** Whether it counts among the `maxOpen`. */
  holdsPlace: boolean
  users: number
  /** When a request last used it, by `performance.now`; 0 if it was only woken for deliveries. */
  lastUsed: number
  /** Called when the last user has left. */
  unused: () => void
  closing: Promise<void> | null
}

const placeMilliseconds = 10_000
/** A handler may take its time: deliveries keep the place of a tenant that closes for so long. */
const slowMilliseconds = 400
/** After the grace of `close`, for stores that do not close. */
const lastMilliseconds = 1_000
/** Between two rounds of a process that keeps tenants open, through more tenants than may be open. */
const turnMilliseconds = 1_000

/** Opens tenants on first use, at most `maxOpen`, and closes the least recently used and the idle ones. */
export function tenantPool<T extends Closable>(needs: Needs<T>): OpenTenants<T> {
  const { limits, log, clock, keepsOpen = false, openingSeconds = 10 } = needs
  let { tenants } = needs
  const places = semaphore(limits.maxOpen)
  /** The openings that take new requests. */
  const entries = new Map<string, Entry<T>>()
  const draining = new Set<Entry<T>>()
  /** How many of those finish deliveries while another tenant has their place. */
  let lingering = 0
  let isDelivering = false
  let isClosed = false
  /** Aborted once nothing more is waited for. */
  const hurry = new AbortController()
  const schedule = wakeSchedule({
    closed: () => [...tenants.enabled.keys()].filter((id) => !entries.has(id)),
    isClosed: (id) => tenants.enabled.has(id) && !entries.has(id),
    wake,
    pauseMilliseconds() {
      const takesTurns = keepsOpen && tenants.enabled.size > limits.maxOpen
      return takesTurns ? turnMilliseconds : limits.scanSeconds * 1000
    },
    clock,
  })
  const idleCheck = keepsOpen ? undefined : setInterval(closeIdle, (limits.idleSeconds * 1000) / 4).unref()

  function settingsOf(id: string): TenantSettings {
    const settings = tenants.enabled.get(id)
    if (settings !== undefined) return settings
    const cause = new SettingsFault(tenants.disabled.get(id) ?? [])
    throw new Unavailable(`the tenant ${id}, which is disabled`, { cause })
  }

  /** Counts the caller in. Waits while the tenant is being opened. */
  async function enter(id: string, isRequest: boolean): Promise<{ entry: Entry<T>; tenant: T }> {
    if (isClosed) throw stopping()
    const entry = entries.get(id) ?? begin(settingsOf(id))
    entry.users++
    if (isRequest) entry.lastUsed = performance.now()
    try {
      const tenant = entry.tenant ?? (await entry.opened)
      if (hurry.signal.aborted) throw stopping()
      return { entry, tenant }
    } catch (error) {
      leave(entry)
      throw error instanceof Unavailable ? error : new Unavailable(`the tenant ${id}`, { cause: error })
    }
  }

  function leave(entry: Entry<T>): void {
    entry.users--
    if (entry.users > 0) return
    entry.unused()
    makePlaces()
  }

  function begin(settings: TenantSettings): Entry<T> {
    const { id } = settings
    schedule.clear(id)
    const opened = Promise.resolve().then(() => open(entry))
    const entry: Entry<T> = {
      settings,
      opened,
      tenant: null,
      holdsPlace: false,
      users: 0,
      lastUsed: 0,
      unused: () => undefined,
      closing: null,
    }
    entries.set(id, entry)
    opened.catch((err: unknown) => {
      log.error({ err, tenant: id }, 'a tenant cannot be opened')
      if (mayReopen()) schedule.set(id, 'unknown')
    })
    return entry
  }

  function forget(entry: Entry<T>): void {
    const { id } = entry.settings
    if (entries.get(id) === entry) entries.delete(id)
  }

  async function open(entry: Entry<T>): Promise<T> {
    await takePlace(entry)
    try {
      const tenant = await openInTime(entry)
      entry.tenant = tenant
      if (isDelivering) tenant.startDeliveries()
      return tenant
    } catch (thrown) {
      leavePlace(entry)
      throw thrown
    }
  }

  async function takePlace(entry: Entry<T>): Promise<void> {
    const acquiring = places.acquire(placeMilliseconds)
    makePlaces()
    // Where all are in use, the least recently used tenant takes no more requests after a second.
    const insisting = setInterval(() => makePlaces(true), 1000)
    entry.holdsPlace = await acquiring
    clearInterval(insisting)
    if (entry.holdsPlace) return
    forget(entry)
    throw new Unavailable(`no room beside ${limits.maxOpen} others`)
  }

  function leavePlace(entry: Entry<T>): void {
    entry.holdsPlace = false
    places.release()
  }

  /**
   * An opening that never ends may hold a thread of the process: until it ends the tenant stays unavailable and is not
   * opened anew.
   */
  async function openInTime(entry: Entry<T>): Promise<T> {
    const { settings } = entry
    const opening = needs.open(settings, (err) => {
      log.error({ err, tenant: settings.id }, 'a tenant has to be closed')
      void close(entry)
    })
    const opened = await inTime(opening, openingSeconds * 1000).catch((thrown: unknown) => {
      forget(entry) // the next request tries again
      throw thrown
    })
    if (opened !== 'late') return opened
    const closed = opening.then((tenant) => tenant.close())
    void closed.catch((err: unknown) => log.error({ err, tenant: settings.id }, notInOrder)).then(() => forget(entry))
    throw new Unavailable(`the tenant ${settings.id}, whose opening takes too long`)
  }

  /**
   * Closes one tenant for each opening that waits for a place.
   *
   * @param evenInUse one at the most: its requests end first
   */
  function makePlaces(evenInUse = false): void {
    const isEnough = (): boolean => places.waiting <= [...draining].filter(({ holdsPlace }) => holdsPlace).length
    while (!isEnough()) {
      const [oldest] = [...entries.values()]
        .filter((entry) => mayClose(entry) && (evenInUse || entry.users === 0))
        .sort((one, other) => one.lastUsed - other.lastUsed)
      if (oldest === undefined) return
      void close(oldest)
      if (evenInUse) return
    }
  }

  /** What a request has left in memory would be lost. */
  function mayClose({ tenant, lastUsed, settings }: Entry<T>): boolean {
    return tenant !== null && (lastUsed === 0 || keepsAll(settings))
  }

  function closeIdle(): void {
    const before = performance.now() - limits.idleSeconds * 1000
    for (const entry of entries.values()) {
      if (mayClose(entry) && entry.users === 0 && entry.lastUsed < before) void close(entry)
    }
  }

  /** Takes no new requests, waits for those inside, and closes. Never rejects. */
  function close(entry: Entry<T>): Promise<void> {
    forget(entry)
    if (entry.closing === null) {
      draining.add(entry)
      entry.closing = leaveAndClose(entry).finally(() => draining.delete(entry))
    }
    return entry.closing
  }

  async function leaveAndClose(entry: Entry<T>): Promise<void> {
    const tenant = await entry.opened.catch(() => null)
    if (tenant === null) return
    const { promise: unused, resolve } = Promise.withResolvers<void>()
    entry.unused = resolve
    if (entry.users > 0) await Promise.race([unused, aborted(hurry.signal)])
    const { id } = entry.settings
    const wakeAt = (due: Date | 'unknown'): void => schedule.set(id, due)
    const finished = drain(tenant, { id, log, hurry: hurry.signal, mayReopen, wakeAt })
    const end = await inTime(finished, slowMilliseconds)
    // Others need not wait for a slow handler. As many tenants may linger as may be open.
    if (end === 'late' && lingering < limits.maxOpen) {
      lingering++
      leavePlace(entry)
      await finished
      lingering--
    } else {
      await finished
      leavePlace(entry)
    }
  }

  function mayReopen(): boolean {
    return isDelivering && !isClosed
  }

  /** Opens a tenant for what is due in it, and closes it unless a request has come meanwhile. */
  async function wake(id: string): Promise<void> {
    const { entry, tenant } = await enter(id, false)
    try {
      await tenant.oneRound()
    } finally {
      leave(entry)
    }
    if (!keepsOpen && entry.users === 0 && entry.lastUsed === 0) await close(entry)
  }

  async function inspect<R>(id: string, work: (tenant: T) => Promise<R>): Promise<R> {
    const { entry, tenant } = await enter(id, true)
    try {
      return await work(tenant)
    } finally {
      entry.lastUsed = performance.now()
      leave(entry)
    }
  }

  logDisabled(log, tenants)
  return {
    // Settings may hold an empty name, which is no tenant's.
    knows: (id) => id !== '' && (tenants.enabled.has(id) || tenants.disabled.has(id)),
    inspect,
    use: (id, work) => inspect(id, (tenant) => whenReady(tenant, work)),

    async prepare() {
      if (!tenants.enabled.has(defaultTenant)) return
      await inspect(defaultTenant, async () => undefined).catch(() => undefined) // the log has the reason
    },

    startDeliveries() {
      isDelivering = true
      for (const { tenant } of entries.values()) tenant?.startDeliveries()
      schedule.start()
    },

    replace(changed) {
      const old = tenants.enabled
      tenants = changed
      logDisabled(log, changed)
      for (const entry of entries.values()) {
        const { id } = entry.settings
        if (!isDeepStrictEqual(old.get(id), changed.enabled.get(id))) void close(entry)
      }
      if (mayReopen()) void schedule.round()
    },

    counts: () => ({
      open: [...entries.values()].filter(({ tenant }) => tenant !== null).length,
      disabled: tenants.disabled.size,
    }),

    async close(graceSeconds) {
      isClosed = true
      places.close()
      clearInterval(idleCheck)
      schedule.stop()
      for (const entry of entries.values()) void close(entry)
      const timer = setTimeout(() => hurry.abort(), graceSeconds * 1000)
      const inVain = aborted(hurry.signal).then(() => delay(lastMilliseconds, undefined, { ref: false }))
      await Promise.race([Promise.all([...draining].map(({ closing }) => closing)), inVain])
      clearTimeout(timer)
    },
  }
}

function stopping(): Unavailable {
  return new Unavailable('the process is stopping')
}

/** Whether its stores have nothing that ends with them. */
function keepsAll({ settings }: TenantSettings): boolean {
  return Object.values(settings.stores).every(({ kind }) => stores.find((one) => one.kind === kind)?.placeOf)
}

function logDisabled(log: Logger, { disabled }: LoadedTenants): void {
  for (const [tenant, faults] of disabled) log.error({ tenant, faults }, 'a tenant is disabled')
}
