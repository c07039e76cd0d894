import type { Service } from '../../config/runtime/service.ts'
import type { Settings } from '../../config/settings/schema/schema.ts'
import { defaultTenant } from '../../config/settings/tenants.ts'
import { urlHost } from '../../lib/url-host.ts'
import type { ExitCode } from '../output.ts'
import type { Part } from '../processes/part.ts'
import { runProcess } from '../run-process.ts'
import type { GlobalOptions } from '../settings.ts'

/** @param part given if several processes serve together, and this is one of them */
export function serve(options: GlobalOptions, part?: Part): Promise<ExitCode> {
  return runProcess({ ...options, listens: true, part }, async (needs) => {
    const { startService } = await import('../../config/runtime/service.ts')
    const service = await startService(needs)
    const { log, settings } = needs
    const { host, publicUrl } = settings.http
    log.info({ url: service.publicUrl, host, port: service.port }, 'listening')
    if (part?.isFirst === false) return service
    const own = `http://${urlHost(host)}:${service.port}`
    process.stderr.write(
      `Portcullis listens on ${publicUrl === service.publicUrl ? `${own}, for ${publicUrl}` : service.publicUrl}\n`,
    )
    for (const line of linesOfTenants(service.addresses, settings)) process.stderr.write(`${line}\n`)
    return service
  })
}

/** Enough for a developer. An operator of many tenants needs no list of them at each start. */
const mostTenants = 5

/** The addresses of the first tenants and of their mail. The key of the mailbox is the same for all tenants. */
function linesOfTenants(all: Service['addresses'], { tenants: { by, header } }: Settings): string[] {
  const lines = all.slice(0, mostTenants).flatMap(({ id, publicUrl, mailboxUrl }) => {
    const isByHeader = by === 'header' && id !== defaultTenant
    const where = `The tenant ${id} is at ${publicUrl}${isByHeader ? ` with the header ${header}: ${id}` : ''}`
    const mail = `Its mail is at ${mailboxUrl}${isByHeader ? ' with this header' : ''}`
    return [...(by === undefined ? [] : [where]), ...(mailboxUrl === null ? [] : [mail])]
  })
  const more = all.length - mostTenants
  return more > 0 ? [...lines, `Tenants that are not listed: ${more}`] : lines
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
