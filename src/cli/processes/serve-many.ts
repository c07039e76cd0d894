import cluster from 'node:cluster'
import { createLog, type Logger } from '../../adapters/logging/log.ts'
import type { SummedMetrics } from '../../config/runtime/metrics.ts'
import type { Settings } from '../../config/settings/schema/schema.ts'
import { serve } from '../commands/serve.ts'
import type { ExitCode } from '../output.ts'
import { type GlobalOptions, settingsHere, tenantsOfCommand } from '../settings.ts'
import { figuresWanted, ownPart } from './part.ts'
import { Primary } from './primary.ts'
import { hashesOfEach, machineHere, needsOneProcess, processesFor, requireShareable, type Wanted } from './shares.ts'

/**
 * `serve --processes`: this process starts the others and serves nothing itself, or it is one of them.
 *
 * @param args the arguments of this process
 */
export async function serveMany(options: GlobalOptions, wanted: Wanted, args: readonly string[]): Promise<ExitCode> {
  if (cluster.isWorker && wanted !== 'auto') return serve(options, ownPart(wanted))
  const all = await settingsHere(options.configFile, { listens: true })
  const loaded = { ...all, tenants: tenantsOfCommand(all, options.tenant) }
  const { settings } = loaded
  const log = createLog(settings.logs)
  const processes = countOf(wanted)
  if (processes === 1) {
    process.on('SIGUSR2', () => log.warn('one process serves, so SIGUSR2 does nothing: restart it instead'))
    return serve(options)
  }
  requireShareable(loaded)
  return serveWith(processes, settings, log, args)

  function countOf(given: Wanted): number {
    if (given !== 'auto') return given
    const machine = machineHere()
    const [fault] = needsOneProcess(loaded)
    const count = fault === undefined ? processesFor(settings, machine) : 1
    const why = fault === undefined ? null : `${fault.path}: ${fault.message}`
    log.info({ processes: count, ...machine, ...(why !== null && { why }) }, 'the number of processes is chosen')
    return count
  }
}

async function serveWith(
  processes: number,
  settings: Settings,
  log: Logger,
  args: readonly string[],
): Promise<ExitCode> {
  let summed: SummedMetrics | null = null
  const primary = new Primary({
    processes,
    // The last option is the valid one.
    args: [...args, '--processes', `${processes}`],
    env: {
      MALLOC_ARENA_MAX: process.env.MALLOC_ARENA_MAX ?? '2',
      UV_THREADPOOL_SIZE: `${Math.max(4, hashesOfEach(settings, processes) + 2)}`,
    },
    log,
    told(worker, message) {
      if (message.is === 'figures') summed?.heard(worker.id, message.figures)
    },
    gone: (worker) => summed?.ended(worker.id),
  })
  if (settings.metrics.port !== undefined) {
    const { exposeSummedMetrics } = await import('../../config/runtime/metrics.ts')
    summed = await exposeSummedMetrics({
      settings,
      log,
      ask() {
        const asked = primary.serving
        for (const worker of asked) worker.send(figuresWanted, () => undefined)
        return asked.map(({ id }) => id)
      },
    })
  }
  return primary.run()
}
