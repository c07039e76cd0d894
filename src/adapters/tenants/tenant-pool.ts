import { setTimeout as delay } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { Unavailable } from '../../domain/refusal.ts'
import { semaphore } from '../../lib/semaphore.ts'
import { inTime, unlessAborted } from '../../lib/timers.ts'
import { wakeSchedule } from '../../lib/wake-schedule.ts'
import {
  type Closable,
  type Log,
  longestDeliverySeconds,
  notInOrder,
  type Open,
  type OpenTenants,
  type Setup,
  type Tenants,
} from './directory.ts'

interface Needs<T extends Closable, Own extends Setup, Faults> {
  readonly tenants: Tenants<Own, Faults>
  /** The tenant of requests that name none. */
  readonly first: string
  readonly limits: {
    readonly maxOpen: number
    /** A tenant without requests for this time closes. */
    readonly idleSeconds: number
    /** The interval at which closed tenants are opened, to find events of other processes. */
    readonly scanSeconds: number
  }
  /** For a worker: tenants stay open, and take turns if there are more than `maxOpen`. */
  readonly keepsOpen?: boolean
  /** An opening that takes longer fails; by default 10. */
  readonly openingSeconds?: number
  /** Whether no store of the tenant loses its records when it closes. */
  readonly keepsAll: (settings: Own) => boolean
  /** The cause in the error for a disabled tenant. */
  readonly asError: (faults: Faults | undefined) => Error
  readonly open: Open<T, Own>
  readonly log: Log
  readonly clock: () => Date
}

/** One opening of a tenant. A tenant can be opened again while its former opening drains. */
interface Entry<T extends Closable, Own extends Setup> {
  readonly settings: Own
  readonly opened: Promise<T>
  /** `null` until the tenant is open. */
  tenant: T | null
  /** Whether it counts among the `maxOpen`. */
  holdsPlace: boolean
  /** The number of requests that use it now. */
  running: number
  /** The time of the last request, by `performance.now`; 0 if there was none. */
  lastUsed: number
  /** Called when the last request has ended. */
  unused: () => void
  closing: Promise<void> | null
}

const placeMilliseconds = 10_000
/** A closing tenant gives up its place after this time, so that a slow handler does not block other tenants. */
const slowMilliseconds = 400
/** The time for the deliveries of a closing tenant that may not give up its place. */
const blockingSeconds = 10
/** The wait for stores that do not close, after the grace period of `close`. */
const lastMilliseconds = 1_000
/** The pause of a worker between two rounds through more tenants than may be open. */
const turnMilliseconds = 1_000

/** Opens tenants on first use, at most `maxOpen`, and closes the least recently used and the idle ones. */
export function tenantPool<T extends Closable, Own extends Setup, Faults>(
  needs: Needs<T, Own, Faults>,
): Omit<OpenTenants<T, Tenants<Own, Faults>>, 'use'> {
  const { limits, first, log, clock, keepsAll, asError, keepsOpen = false, openingSeconds = 10 } = needs
  let { tenants } = needs
  const places = semaphore(limits.maxOpen)
  /** The openings that take new requests. */
  const entries = new Map<string, Entry<T, Own>>()
  const draining = new Set<Entry<T, Own>>()
  let isDelivering = false
  let isClosed = false
  /** Aborted when the grace period of `close` has ended. */
  const hurry = new AbortController()
  const schedule = wakeSchedule({
    asleep: () => [...tenants.enabled.keys()].filter((id) => !entries.has(id)),
    isAsleep: (id) => tenants.enabled.has(id) && !entries.has(id),
    wake,
    pauseMilliseconds() {
      const takesTurns = keepsOpen && tenants.enabled.size > limits.maxOpen
      return takesTurns ? turnMilliseconds : limits.scanSeconds * 1000
    },
    clock,
  })
  const idleCheck = keepsOpen ? undefined : setInterval(closeIdle, (limits.idleSeconds * 1000) / 4).unref()

  function settingsOf(id: string): Own {
    const settings = tenants.enabled.get(id)
    if (settings !== undefined) return settings
    throw new Unavailable(`the tenant ${id} is disabled`, { cause: asError(tenants.disabled.get(id)) })
  }

  /** Opens the tenant if necessary and does `work`; the tenant stays open meanwhile. */
  async function within<R>(id: string, work: (tenant: T, entry: Entry<T, Own>) => Promise<R>): Promise<R> {
    if (isClosed) throw stopping()
    const entry = entries.get(id) ?? begin(settingsOf(id))
    entry.running++
    try {
      const tenant = entry.tenant ?? (await entry.opened.catch((cause) => unavailable(id, cause)))
      if (hurry.signal.aborted) throw stopping()
      return await work(tenant, entry)
    } finally {
      entry.running--
      if (entry.running === 0) {
        entry.unused()
        makePlaces()
      }
    }
  }

  function begin(settings: Own): Entry<T, Own> {
    const { id } = settings
    schedule.clear(id)
    const opened = Promise.resolve().then(() => open(entry))
    const entry: Entry<T, Own> = {
      settings,
      opened,
      tenant: null,
      holdsPlace: false,
      running: 0,
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

  function forget(entry: Entry<T, Own>): void {
    const { id } = entry.settings
    if (entries.get(id) === entry) entries.delete(id)
  }

  async function open(entry: Entry<T, Own>): Promise<T> {
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

  async function takePlace(entry: Entry<T, Own>): Promise<void> {
    const acquiring = places.acquire(placeMilliseconds)
    makePlaces()
    // If every tenant is in use, the least recently used one takes no more requests after a second.
    const insisting = setInterval(() => makePlaces(true), 1000)
    entry.holdsPlace = await acquiring
    clearInterval(insisting)
    if (entry.holdsPlace) return
    forget(entry)
    throw new Unavailable(`all ${limits.maxOpen} open tenants are in use (tenants.maxOpen)`)
  }

  function leavePlace(entry: Entry<T, Own>): void {
    entry.holdsPlace = false
    places.release()
  }

  /** An opening that hangs may hold a thread, so the tenant is not opened again before it ends. */
  async function openInTime(entry: Entry<T, Own>): Promise<T> {
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
    throw new Unavailable(`the tenant ${settings.id} did not open in time`)
  }

  /**
   * Closes one tenant for each opening that waits for a place.
   *
   * @param evenInUse also closes a tenant with requests, at most one: it closes when they have ended
   */
  function makePlaces(evenInUse = false): void {
    while (places.waiting > [...draining].filter(({ holdsPlace }) => holdsPlace).length) {
      const [oldest] = [...entries.values()]
        .filter((entry) => mayClose(entry) && (evenInUse || entry.running === 0))
        .sort((one, other) => one.lastUsed - other.lastUsed)
      if (oldest === undefined) return
      void close(oldest)
      if (evenInUse) return
    }
  }

  /** Closing loses the records that requests have left in a memory store. */
  function mayClose({ tenant, lastUsed, settings }: Entry<T, Own>): boolean {
    return tenant !== null && (lastUsed === 0 || keepsAll(settings))
  }

  function closeIdle(): void {
    const before = performance.now() - limits.idleSeconds * 1000
    for (const entry of entries.values()) {
      if (mayClose(entry) && entry.running === 0 && entry.lastUsed < before) void close(entry)
    }
  }

  /** Refuses new requests, waits for those that run, and closes. Never rejects. */
  function close(entry: Entry<T, Own>): Promise<void> {
    forget(entry)
    if (entry.closing === null) {
      draining.add(entry)
      entry.closing = drained(entry).finally(() => draining.delete(entry))
    }
    return entry.closing
  }

  async function drained(entry: Entry<T, Own>): Promise<void> {
    const tenant = await entry.opened.catch(() => null)
    if (tenant === null) return
    const { promise: unused, resolve } = Promise.withResolvers<void>()
    entry.unused = resolve
    if (entry.running > 0) await unlessAborted(unused, hurry.signal)
    const { id } = entry.settings
    // At most `maxOpen` closing tenants give up their places, because each of them still has its stores open.
    const mayLinger = draining.size <= limits.maxOpen
    const graceSeconds = mayLinger ? longestDeliverySeconds : blockingSeconds
    const finished = finish(id, tenant, graceSeconds)
    await (mayLinger ? inTime(finished, slowMilliseconds) : finished)
    leavePlace(entry)
    await finished
  }

  /** Deliveries end first, and the schedule remembers the next event. Never rejects. */
  async function finish(id: string, tenant: T, graceSeconds: number): Promise<void> {
    const logged = (err: unknown): void => log.error({ err, tenant: id }, notInOrder)
    if (mayReopen()) await tenant.startDue().catch(() => undefined) // a store that is down keeps its events
    await unlessAborted(tenant.stopDeliveries(graceSeconds), hurry.signal).catch(logged)
    if (hurry.signal.aborted) await tenant.stopDeliveries(0).catch(logged)
    if (mayReopen()) {
      const due = await tenant.nextDue().catch(() => 'unknown' as const)
      if (due !== null) schedule.set(id, due)
    }
    await tenant.close().catch(logged)
  }

  function mayReopen(): boolean {
    return isDelivering && !isClosed
  }

  /** Opens a tenant, delivers its due events, and closes it unless a request has come meanwhile. */
  async function wake(id: string): Promise<void> {
    const entry = await within(id, async (tenant, entry) => {
      await tenant.oneRound()
      return entry
    })
    if (!keepsOpen && entry.running === 0 && entry.lastUsed === 0) await inTime(close(entry), slowMilliseconds)
  }

  function inspect<R>(id: string, work: (tenant: T) => Promise<R>): Promise<R> {
    return within(id, async (tenant, entry) => {
      try {
        entry.lastUsed = performance.now()
        return await work(tenant)
      } finally {
        entry.lastUsed = performance.now()
      }
    })
  }

  logDisabled(log, tenants)
  return {
    knows: (id) => tenants.enabled.has(id) || tenants.disabled.has(id),
    inspect,

    async prepare() {
      if (!tenants.enabled.has(first)) return
      await inspect(first, async () => undefined).catch(() => undefined) // the log has the reason
    },

    startDeliveries() {
      isDelivering = true
      for (const { tenant } of entries.values()) tenant?.startDeliveries()
      schedule.start()
    },

    async replace(changed) {
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

    opened: () => [...entries.values()].flatMap(({ tenant }) => tenant ?? []),

    async close(graceSeconds) {
      isClosed = true
      places.close()
      clearInterval(idleCheck)
      schedule.stop()
      for (const entry of entries.values()) void close(entry)
      const timer = setTimeout(() => hurry.abort(), graceSeconds * 1000)
      const inVain = delay(graceSeconds * 1000 + lastMilliseconds, undefined, { ref: false })
      await Promise.race([Promise.all([...draining].map(({ closing }) => closing)), inVain])
      clearTimeout(timer)
    },
  }
}

function stopping(): Unavailable {
  return new Unavailable('the process is stopping')
}

function unavailable(id: string, cause: unknown): never {
  throw cause instanceof Unavailable ? cause : new Unavailable(`the tenant ${id} cannot be opened`, { cause })
}

function logDisabled(log: Log, { disabled }: Tenants<Setup>): void {
  for (const [tenant, faults] of disabled) log.error({ tenant, faults }, 'a tenant is disabled')
}
