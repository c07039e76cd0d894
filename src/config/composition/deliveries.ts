import { type DeliveryLoop, deliveryLoop } from '../../adapters/events/delivery-loop.ts'
import type { Logger } from '../../adapters/logging/log.ts'
import type { EventAnnouncements } from '../../adapters/stores/store-backend.ts'
import { Unavailable } from '../../domain/refusal.ts'
import type { UseCases } from './container.ts'
import type { Ports } from './ports.ts'

interface Needs {
  readonly useCases: Pick<UseCases, 'relayEvents' | 'deliverTokens' | 'sweep'>
  readonly ports: Pick<Ports, 'clock' | 'outbox' | 'sinkNames'>
  /** Another process delivers the events. This one still sweeps expired records. */
  readonly leavesEvents: boolean
  /** Asks the stores whether they answer, and logs an outage. Never rejects. */
  readonly failing: () => Promise<unknown>
  readonly announcements: EventAnnouncements | undefined
  readonly log: Logger
}

const pollSeconds = 1
/** Token requests are polled at random times, so that no answer's time depends on their outcome. */
const tokenBeat = { pollSeconds: 0.25, jitter: 0.5 }
const hourMilliseconds = 3_600_000
const firstChoresMilliseconds = 200

/** The background work of a tenant. */
export function deliveriesOf({ useCases, ports, leavesEvents, failing, announcements, log }: Needs) {
  const { relayEvents, deliverTokens, sweep } = useCases
  const { clock } = ports
  let events: DeliveryLoop | null = null
  let requests: DeliveryLoop | null = null
  const timers: NodeJS.Timeout[] = []
  let isReady = false
  let isWanted = false

  const logged = (work: () => Promise<unknown>): Promise<unknown> =>
    work().catch((err: unknown) => {
      if (err instanceof Unavailable) void failing()
      else log.warn({ err }, 'a background task failed')
    })
  /** Does `work` soon and then each hour. */
  const chore = (work: () => Promise<unknown>): void => {
    const done = (): unknown => logged(work)
    timers.push(setTimeout(done, firstChoresMilliseconds).unref(), setInterval(done, hourMilliseconds).unref())
  }
  const loopOf = (of: 'events' | 'token requests') => ({
    clock,
    failed(err: unknown) {
      log.error({ err, of }, 'the user store does not answer the relay')
      void failing()
    },
    recovered: () => log.info({ of }, 'the user store answers the relay again'),
  })

  function start(): void {
    chore(() => sweep.execute())
    if (leavesEvents) return
    void logged(() => warnOfOffSinks(ports, log))
    const loop = deliveryLoop({ ...loopOf('events'), work: relayEvents, pollSeconds })
    events = loop
    announcements?.listen(loop.wake)
    requests = deliveryLoop({ ...loopOf('token requests'), work: deliverTokens, ...tokenBeat })
  }

  return {
    chore,
    /** This process, or another, delivers the events that were just written, without waiting for the next poll. */
    wake: () => (events === null ? announcements?.announce() : events.wake()),

    startDeliveries() {
      isWanted = true
      if (isReady) start()
    },

    /** Called when the user store is known to belong to this secret. Deliveries must not begin before. */
    usersAreReady() {
      isReady = true
      if (isWanted) start()
    },

    async startDue() {
      if (leavesEvents) return
      await Promise.all([relayEvents.startDue(), deliverTokens.startDue()])
    },

    async stopDeliveries(graceSeconds: number) {
      isWanted = false
      await Promise.all([events?.stop(graceSeconds), requests?.stop(graceSeconds)])
    },

    async oneRound() {
      await Promise.all([events?.firstLook, requests?.firstLook, logged(() => sweep.execute())])
    },

    // Only for events: a store cannot tell when the next token request is due.
    nextDue: async () => (leavesEvents ? null : relayEvents.nextDue()),

    /** Ends the chores. */
    close() {
      for (const timer of timers) clearTimeout(timer)
    },
  }
}

/** The limit of the count, so that it costs the same for any number of deliveries. */
const mostCounted = 1000

async function warnOfOffSinks({ outbox, sinkNames }: Needs['ports'], log: Logger): Promise<void> {
  for (const [sink, count] of await outbox.countBySink(mostCounted)) {
    if (!sinkNames.has(sink)) log.warn({ sink, count, isMore: count === mostCounted }, waitForOff)
  }
}

const waitForOff =
  'deliveries wait for a sink that is switched off: switch it on, or discard them with "portcullis events discard --sink <sink>"'
