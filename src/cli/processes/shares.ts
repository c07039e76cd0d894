import { availableParallelism, totalmem } from 'node:os'
import type { LoadedSettings } from '../../config/settings/load.ts'
import type { Fault } from '../../config/settings/schema/fault.ts'
import { SettingsFault } from '../../config/settings/schema/fault.ts'
import type { Settings } from '../../config/settings/schema/schema.ts'

/** The number that `--processes` names. */
export type Wanted = number | 'auto'

interface Machine {
  readonly cores: number
  readonly memoryBytes: number
}

/** After some logins. */
const processBytes = 200 * 2 ** 20
/** The rest is for the system, the primary, the cache of SQLite, and one process more during a rolling restart. */
const usableShare = 0.75

/** The processors and the memory that this process may use; a container may limit both. */
export function machineHere(): Machine {
  const limit = process.constrainedMemory()
  return { cores: availableParallelism(), memoryBytes: limit > 0 ? Math.min(limit, totalmem()) : totalmem() }
}

/** One process for each core, as far as the memory suffices for them and their hashes. */
export function processesFor({ passwords }: Settings, { cores, memoryBytes }: Machine): number {
  const hashes = Math.max(1, (passwords.concurrency ?? cores) / cores)
  const bytes = processBytes + hashes * passwords.memoryKiB * 1024
  return Math.max(1, Math.min(cores, Math.floor((memoryBytes * usableShare) / bytes)))
}

/** The hashes that one of these processes computes at the same time. */
export function hashesOfEach({ passwords }: Settings, processes: number): number {
  return Math.max(1, Math.floor((passwords.concurrency ?? availableParallelism()) / processes))
}

/** The settings with this share of the bounds that hold for the whole service. */
export function dividedAmong(processes: number, loaded: LoadedSettings): LoadedSettings {
  const { settings } = loaded
  const maxConnections = Math.ceil(settings.http.maxConnections / processes)
  return {
    ...loaded,
    settings: {
      ...settings,
      http: { ...settings.http, maxConnections },
      passwords: { ...settings.passwords, concurrency: hashesOfEach(settings, processes) },
    },
  }
}

/** The settings that need a single process. */
export function needsOneProcess({ tenants }: LoadedSettings): readonly Fault[] {
  return [...tenants.enabled.values()].flatMap(({ pathPrefix, settings: { stores, mail } }) => {
    const roles = (['users', 'sessions', 'tokens'] as const).filter((role) => stores[role].kind === 'memory')
    const paths = [...roles.map((role) => `stores.${role}.kind`), ...(mail.url === 'mailbox:' ? ['mail.url'] : [])]
    return paths.map((path): Fault => {
      const value = path === 'mail.url' ? 'mailbox:' : 'memory'
      const message = `${value} lives in one process: choose another value, or serve without --processes`
      return { path: `${pathPrefix}${path}`, message, source: 'default' }
    })
  })
}

export function requireShareable(loaded: LoadedSettings): void {
  const faults = needsOneProcess(loaded)
  if (faults.length > 0) throw new SettingsFault(faults)
}
