import { isIPv6 } from 'node:net'
import type { ExitCode } from '../output.ts'
import { runProcess } from '../run-process.ts'
import type { GlobalOptions } from '../settings.ts'

export function serve(options: GlobalOptions): Promise<ExitCode> {
  return runProcess({ ...options, listens: true }, async (needs) => {
    const { startService } = await import('../../config/runtime/service.ts')
    const service = await startService(needs)
    const { log, settings } = needs
    const { host, publicUrl } = settings.http
    log.info({ url: service.publicUrl, host, port: service.port }, 'listening')
    const own = `http://${isIPv6(host) ? `[${host}]` : host}:${service.port}`
    process.stderr.write(
      `Portcullis listens on ${publicUrl === service.publicUrl ? `${own}, for ${publicUrl}` : service.publicUrl}\n`,
    )
    if (service.mailboxUrl !== null) process.stderr.write(`Its mail is at ${service.mailboxUrl}\n`)
    return service
  })
}

export function work(options: GlobalOptions): Promise<ExitCode> {
  return runProcess({ ...options, listens: false }, async (needs) => {
    const { startWorker } = await import('../../config/runtime/worker.ts') // without HTTP
    const worker = await startWorker(needs)
    needs.log.info('working')
    process.stderr.write('Portcullis delivers events\n')
    return worker
  })
}
