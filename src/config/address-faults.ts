import { Unsuitable } from '../adapters/stores/backend.ts'
import type { Settings } from './settings.ts'
import type { Fault, Source } from './settings-fault.ts'
import { stores } from './stores.ts'

interface From {
  readonly settings: Settings
  readonly sources: ReadonlyMap<string, Source>
}

/** What the drivers object to in the addresses of stores, as a start would find out. Nothing is asked of the network. */
export async function addressFaults({ settings, sources }: From): Promise<Fault[]> {
  const faults: Fault[] = []
  for (const role of ['users', 'sessions', 'tokens'] as const) {
    const { kind, url, prefix = null } = settings.stores[role]
    const backend = stores.find((one) => one.kind === kind)
    if (backend === undefined || url === undefined) continue
    const { dataFolder } = settings
    try {
      const handle = await backend.open({ url, prefix, dataFolder, clock: () => new Date(), warn: () => undefined })
      await handle.close()
    } catch (thrown) {
      if (!(thrown instanceof Unsuitable)) throw thrown
      const path = `stores.${role}.url`
      faults.push({ path, message: thrown.message, source: sources.get(path) ?? 'default' })
    }
  }
  return faults
}
