import { Counter, Gauge, type Registry } from 'prom-client'
import type { DeliveryState } from '../../application/ports/stores/page.ts'

/** The events and token requests of all open tenants. */
export type Backlog = Readonly<Record<'event' | 'token_request', Readonly<Record<DeliveryState, number>>>>

/** Figures that are read at each scrape. None of them may wait for a store. */
interface Sources {
  readonly hashes: () => {
    readonly waiting: number
    readonly running: number
    readonly refused: { readonly overload: number; readonly client: number }
  }
  readonly tenants: () => { readonly open: number; readonly disabled: number }
  /** One entry for each store of each open tenant. */
  readonly stores: () => readonly { readonly store: string; readonly isDown: boolean }[]
  /** One entry for each store whose server has users of its own. */
  readonly access: () => readonly { readonly store: string; readonly control: number; readonly reading: number }[]
  /** `null` while no store of users answers. */
  readonly backlog: () => Promise<Backlog | null>
}

/** Registers the figures of `sources`. */
export function registerGauges(registry: Registry, { hashes, tenants, stores, access, backlog }: Sources): void {
  const registers = [registry]
  new Gauge({
    name: 'portcullis_hash_jobs',
    help: 'Password hashes that wait or are computed.',
    labelNames: ['state'],
    registers,
    collect() {
      const { waiting, running } = hashes()
      this.set({ state: 'waiting' }, waiting)
      this.set({ state: 'running' }, running)
    },
  })
  new Counter({
    name: 'portcullis_hash_jobs_refused_total',
    help: 'Password hashes that were refused. overload: 503; client: 429, one client filled its share of the queue.',
    labelNames: ['reason'],
    registers,
    collect() {
      const { overload, client } = hashes().refused
      this.reset()
      this.inc({ reason: 'overload' }, overload)
      this.inc({ reason: 'client' }, client)
    },
  })
  new Gauge({
    name: 'portcullis_tenants',
    help: 'Tenants of this process.',
    labelNames: ['state'],
    aggregator: 'max', // each of several processes reports the same
    registers,
    collect() {
      const { open, disabled } = tenants()
      this.set({ state: 'open' }, open)
      this.set({ state: 'disabled' }, disabled)
    },
  })
  new Gauge({
    name: 'portcullis_stores_down',
    help: 'Stores of open tenants that do not answer, by kind.',
    labelNames: ['store'],
    aggregator: 'max', // each of several processes reports the same
    registers,
    collect() {
      this.reset()
      for (const { store, isDown } of stores()) this.inc({ store }, isDown ? 1 : 0)
    },
  })
  new Gauge({
    name: 'portcullis_foreign_access',
    help: 'Ways by which other users of database servers reach the data of open tenants. control: with the rights of the service.',
    labelNames: ['store', 'kind'],
    aggregator: 'max', // each of several processes reports the same
    registers,
    collect() {
      this.reset()
      for (const { store, control, reading } of access()) {
        this.inc({ store, kind: 'control' }, control)
        this.inc({ store, kind: 'reading' }, reading)
      }
    },
  })
  new Gauge({
    name: 'portcullis_undelivered_events',
    help: 'Events and token requests of open tenants in their stores; of each tenant at most 10000.',
    labelNames: ['kind', 'state'],
    aggregator: 'max', // each of several processes reports the same
    registers,
    async collect() {
      const counts = await backlog()
      this.reset()
      for (const [kind, states] of Object.entries(counts ?? {})) {
        for (const [state, count] of Object.entries(states)) this.set({ kind, state }, count)
      }
    },
  })
}
