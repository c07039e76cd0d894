import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, isIP } from 'node:net'

/** A registry, or the sums of several. */
export interface FiguresSource {
  readonly contentType: string
  metrics(): Promise<string>
}

interface Options {
  readonly host: string
  readonly port: number
  /** Names with a dot by which scrapers reach this port. */
  readonly allowedHosts: readonly string[]
  /** Called with the reason why a scrape could not be answered. */
  readonly failed: (fault: unknown) => void
}

interface MetricsServer {
  readonly port: number
  close(): Promise<void>
}

/** Serves `GET /metrics` and nothing else. If listening fails, the error gets `listener: 'metrics'`. */
export async function serveMetrics(
  source: FiguresSource,
  { host, port, allowedHosts, failed }: Options,
): Promise<MetricsServer> {
  const allowed = new Set([host, ...allowedHosts].map((name) => name.toLowerCase()))
  const server = createServer((request, response) => {
    if (!isAllowed(request.headers.host ?? '', allowed)) {
      return void response.writeHead(421).end('metrics.allowedHosts does not list the host of this request\n')
    }
    if (request.method !== 'GET' || request.url !== '/metrics') return void response.writeHead(404).end()
    source.metrics().then(
      (text) => response.writeHead(200, { 'Content-Type': source.contentType }).end(text),
      (fault: unknown) => {
        failed(fault)
        response.writeHead(500).end()
      },
    )
  })
  await once(server.listen({ host, port }), 'listening').catch((error: Error) => {
    throw Object.assign(error, { listener: 'metrics' })
  })
  server.on('error', failed)
  return {
    port: (server.address() as AddressInfo).port, // safe: a listening TCP server has one
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

/**
 * Whether no page of a stranger can send this `Host`. Such a page has a name of its owner, who can let that name lead to this
 * machine (DNS rebinding). IP addresses, and names without a dot as in Docker networks, are never theirs.
 */
function isAllowed(host: string, allowed: ReadonlySet<string>): boolean {
  const name = host.replace(/:\d*$/, '').toLowerCase()
  return !name.includes('.') || isIP(name) !== 0 || allowed.has(name)
}
