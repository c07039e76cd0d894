import { Unsuitable } from '../../adapters/stores/store-backend.ts'
import { stores } from '../plugins/stores.ts'
import type { Fault, Source } from '../settings/schema/fault.ts'
import type { Settings } from '../settings/schema/schema.ts'

interface From {
  readonly settings: Settings
  readonly sources: ReadonlyMap<string, Source>
}

/** What the drivers object to in the addresses of stores, as a start would find out. Nothing is asked of the network. */
export async function addressFaults({ settings, sources }: From): Promise<Fault[]> {
  const faults: Fault[] = []
  for (const role of ['users', 'sessions', 'tokens'] as const) {
    const { kind, url, prefix = null } = settings.stores[role]
    const source = sources.get(`stores.${role}.url`)
    if (source === undefined) continue // it is that of the users, which is told of once
    const backend = stores.find((one) => one.kind === kind)
    if (backend === undefined || url === undefined) continue
    const { dataFolder } = settings
    try {
      const handle = await backend.open({ url, prefix, dataFolder, clock: () => new Date(), warn: () => undefined })
      await handle.close()
    } catch (thrown) {
      if (!(thrown instanceof Unsuitable)) throw thrown
      faults.push({ path: `stores.${role}.url`, message: thrown.message, source })
    }
  }
  return faults
}
