import type { StoreHandle } from './store-backend.ts'

interface Opened {
  readonly kind: string
  readonly handle: Pick<StoreHandle, 'foreignAccess'>
}

interface Log {
  error(fields: object, message: string): void
}

/** The ways of others to the data of a store, at the last look. */
export interface FoundAccess {
  readonly store: string
  readonly control: number
  readonly reading: number
}

/** Looks for ways by which others reach the data of the stores beside the service. */
export function accessWatch(opened: readonly Opened[], log: Log) {
  const found = new Map<Opened, FoundAccess>()

  return {
    /** Logs all ways. Throws `Unavailable` while a store does not answer. */
    async look(): Promise<void> {
      for (const one of opened) {
        const ways = await one.handle.foreignAccess?.()
        if (ways === undefined) continue
        const control = ways.filter(({ isControl }) => isControl).length
        found.set(one, { store: one.kind, control, reading: ways.length - control })
        if (ways.length === 0) continue
        const fields = { store: one.kind, isControl: control > 0, ways: ways.map(({ text }) => text) }
        log.error(fields, 'other roles of the database reach the data: run the command of each way')
      }
    },
    /** The result of the last look, without a request. */
    found: (): readonly FoundAccess[] => [...found.values()],
  }
}
