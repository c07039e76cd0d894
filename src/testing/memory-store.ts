import { type OpenStore, openStore } from '../config/plugins/open-store.ts'

/** A new, empty store for all roles. Its time is `clock`'s. */
export function memoryStore(clock?: () => Date): Promise<OpenStore> {
  return openStore({ kind: 'memory' }, clock && { clock })
}
