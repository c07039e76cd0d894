import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from '../../adapters/logging/log.ts'
import type { Closable } from './directory.ts'
import { inTime } from './in-time.ts'
import { notInOrder, type Slot } from './tenant-slot.ts'

interface Needs<T extends Closable> {
  /** How many may give their place away before they are closed. */
  readonly mostLingering: number
  /** Whether a tenant is opened again for what falls due in it. */
  readonly mayReopen: () => boolean
  /** Called before the store is out of reach. */
  readonly setAlarm: (id: string, due: Date | 'unknown') => void
  readonly leavePlace: (slot: Slot<T>) => void
  readonly log: Logger
}

/** Those that are on their way out: a tenant can be opened anew while its former opening ends. */
export interface LeavingTenants<T extends Closable> {
  /** Whether requests and deliveries in hand are waited for no more. */
  readonly isHurried: boolean
  /** How many places those that leave will give back. */
  vacating(): number
  /** Waits for those inside, and closes; the same promise for one that is leaving already. Never rejects. */
  close(slot: Slot<T>): Promise<void>
  /** Waits for all that leave: for those inside them for `graceSeconds`, and a second more for those that close in vain. */
  end(graceSeconds: number): Promise<void>
}

/** Deliveries in hand keep the place of a tenant that closes for so long: a handler may take its time. */
const placeMilliseconds = 400
/** Deliveries in hand may end before a tenant that is not needed any more is closed. */
const deliveryGraceSeconds = 10
/** After their grace, for those that close in vain. */
const lastMilliseconds = 1000

export function leavingTenants<T extends Closable>(needs: Needs<T>): LeavingTenants<T> {
  const { mostLingering, mayReopen, setAlarm, leavePlace, log } = needs
  const leaving = new Set<Slot<T>>()
  /** How many of these have given their place away. */
  let lingering = 0
  let isHurried = false
  let hurryUp = (): void => undefined
  /** Resolves when nothing is to be waited for any more. */
  const hurry = new Promise<void>((resolve) => {
    hurryUp = () => {
      isHurried = true
      resolve()
    }
  })

  async function seeOff(slot: Slot<T>): Promise<void> {
    const opened = await slot.opened.catch(() => null)
    if (opened === null) return
    await Promise.race([abandonment(slot), hurry])
    const finished = finish(slot.settings.id, opened)
    const end = await inTime(finished, placeMilliseconds)
    // Others need not wait for a handler. Those that linger are no more than those that may be open.
    if (end === 'late' && lingering < mostLingering) {
      lingering++
      leavePlace(slot)
      await finished
      lingering--
    } else {
      await finished
      leavePlace(slot)
    }
  }

  async function abandonment(slot: Slot<T>): Promise<void> {
    if (slot.users === 0) return
    await new Promise<void>((resolve) => {
      slot.abandoned = resolve
    })
  }

  /** Never rejects. */
  async function finish(id: string, tenant: Closable): Promise<void> {
    const { startDue, stopDeliveries, close } = tenant
    const logged = (err: unknown): void => log.error({ err, tenant: id }, notInOrder)

    if (mayReopen()) await startDue().catch(() => undefined) // what a dead store keeps is not lost
    await Promise.race([stopDeliveries(deliveryGraceSeconds), hurry]).catch(logged)
    if (isHurried) await stopDeliveries(0).catch(logged)
    if (mayReopen()) await rememberDue(id, tenant)
    await close().catch(logged)
  }

  /** When is it to be opened again, if nobody asks for it? */
  async function rememberDue(id: string, { nextDue }: Closable): Promise<void> {
    const due = await nextDue().catch(() => 'unknown' as const)
    if (due !== null) setAlarm(id, due)
  }

  return {
    get isHurried() {
      return isHurried
    },

    vacating: () => [...leaving].filter(({ hasPlace }) => hasPlace).length,

    close(slot) {
      if (slot.leaving === null) {
        leaving.add(slot)
        slot.leaving = seeOff(slot).finally(() => leaving.delete(slot))
      }
      return slot.leaving
    },

    async end(graceSeconds) {
      const patience = setTimeout(hurryUp, graceSeconds * 1000)
      const inVain = hurry.then(() => delay(lastMilliseconds, undefined, { ref: false }))
      await Promise.race([Promise.all([...leaving].map((slot) => slot.leaving)), inVain])
      clearTimeout(patience)
    },
  }
}
