import { isIPv6 } from 'node:net'
import { startService } from '../config/service.ts'
import type { ExitCode } from './exit-code.ts'
import { type Options, runUntilTold } from './long-running.ts'

/** Serves until it is told to stop, or cannot go on. */
export function serve(options: Options): Promise<ExitCode> {
  return runUntilTold(options, async (needs) => {
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
