import cluster from 'node:cluster'
import { once } from 'node:events'
import type { Figures, SharedFigures } from '../../config/composition/shared-resources.ts'
import type { LoadedSettings } from '../../config/settings/load.ts'
import { dividedAmong, requireShareable } from './shares.ts'

/** A message of a process to the primary. */
export type Told = { readonly is: 'serving' } | { readonly is: 'figures'; readonly figures: Figures }

/** The only question of the primary. */
export const figuresWanted = 'portcullis: figures'

export type Part = ReturnType<typeof ownPart>

/** This process as one of several that serve on the same ports. The primary has started it. */
export function ownPart(processes: number) {
  const { worker } = cluster
  // Node would exit at once when the primary has ended. This process drains first.
  if (worker !== undefined) worker.exitedAfterDisconnect = true
  process.on('SIGUSR2', () => undefined) // it is for the primary, but a supervisor may send it to all processes
  const figures: SharedFigures = (registry) => {
    const tellFigures = async () => tell({ is: 'figures', figures: await registry.getMetricsAsJSON() })
    process.on('message', (message) => {
      if (message === figuresWanted) void tellFigures()
    })
    return tellFigures
  }
  return {
    processes,
    /** Whether it speaks for all of them at the start. */
    isFirst: worker?.id === 1,
    /** The settings with its part of the bounds. Throws `SettingsFault` for settings that need a single process. */
    settingsOf(loaded: LoadedSettings): LoadedSettings {
      requireShareable(loaded)
      return dividedAmong(processes, loaded)
    },
    serves: () => void tell({ is: 'serving' }),
    /** Resolves when the primary has ended. */
    orphaned: once(process, 'disconnect'),
    figures,
  }
}

/** Resolves when the message is written, or cannot be written because the primary has ended. */
function tell(message: Told): Promise<void> {
  return new Promise((resolve) => {
    if (process.connected) process.send?.(message, undefined, undefined, () => resolve())
    else resolve()
  })
}
