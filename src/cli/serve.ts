import { isIPv6 } from 'node:net'
import { startService } from '../config/runtime/service.ts'
import type { ExitCode } from './exit-code.ts'
import { runUntilTold } from './run-process.ts'
import type { GlobalOptions } from './settings.ts'

/** Serves until it is told to stop, or cannot go on. */
export function serve(options: GlobalOptions): Promise<ExitCode> {
  return runUntilTold({ ...options, listens: true }, async (needs) => {
    const service = await startService(needs)
    const { log, settings } = needs
    const { host, publicUrl } = settings.http
    log.info({ url: service.publicUrl, host, port: service.port }, 'listening')
    const own = `http://${isIPv6(host) ? `[${host}]` : host}:${service.port}`
    process.stderr.write(
      `Portcullis listens on ${publicUrl === service.publicUrl ? `${own}, for ${publicUrl}` : service.publicUrl}\n`,
    )
    return service
  })
}
