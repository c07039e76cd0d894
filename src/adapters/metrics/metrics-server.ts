import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Registry } from 'prom-client'

interface Options {
  readonly host: string
  readonly port: number
  /** Called with the reason why a scrape could not be answered. */
  readonly failed: (fault: unknown) => void
}

interface MetricsServer {
  readonly port: number
  close(): Promise<void>
}

/** Serves `GET /metrics` and nothing else. If listening fails, the error gets `listener: 'metrics'`. */
export async function serveMetrics(registry: Registry, { host, port, failed }: Options): Promise<MetricsServer> {
  const server = createServer((request, response) => {
    if (request.method !== 'GET' || request.url !== '/metrics') return void response.writeHead(404).end()
    registry.metrics().then(
      (text) => response.writeHead(200, { 'Content-Type': registry.contentType }).end(text),
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
