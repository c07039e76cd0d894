import { startService } from '../config/service.ts'
import type { ExitCode } from './exit-code.ts'
import { type Options, runUntilTold } from './long-running.ts'

/** Serves until it is told to stop, or cannot go on. */
export function serve(options: Options): Promise<ExitCode> {
  return runUntilTold(options, async (needs) => {
    const service = await startService(needs)
    const { log, settings } = needs
    log.info({ url: service.publicUrl, host: settings.http.host, port: service.port }, 'listening')
    process.stderr.write(`Portcullis listens on ${service.publicUrl}\n`)
    return service
  })
}
