import { startWorker } from '../config/worker.ts'
import type { ExitCode } from './exit-code.ts'
import { type Options, runUntilTold } from './long-running.ts'

/** Delivers events and sweeps until it is told to stop, or cannot go on. */
export function work(options: Options): Promise<ExitCode> {
  return runUntilTold(options, async (needs) => {
    const worker = await startWorker(needs)
    needs.log.info('working')
    process.stderr.write('Portcullis delivers events\n')
    return worker
  })
}
