import { startWorker } from '../config/runtime/worker.ts'
import type { ExitCode } from './exit-code.ts'
import { runUntilTold } from './run-process.ts'
import type { GlobalOptions } from './settings.ts'

/** Delivers events and sweeps until it is told to stop, or cannot go on. */
export function work(options: GlobalOptions): Promise<ExitCode> {
  return runUntilTold({ ...options, listens: false }, async (needs) => {
    const worker = await startWorker(needs)
    needs.log.info('working')
    process.stderr.write('Portcullis delivers events\n')
    return worker
  })
}
