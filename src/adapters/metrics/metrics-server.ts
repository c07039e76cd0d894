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

/** Serves `GET /metrics` and nothing else. Rejects with the error of `listen`, whose `listener` is `metrics`. */
export function serveMetrics(registry: Registry, { host, port, failed }: Options): Promise<MetricsServer> {
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
  return new Promise((resolve, reject) => {
    server.once('error', (error) => reject(Object.assign(error, { listener: 'metrics' })))
    server.listen({ host, port }, () => {
      server.removeAllListeners('error').on('error', failed)
      resolve({
        port: (server.address() as AddressInfo).port, // safe: a listening TCP server has one
        close() {
          const closed = new Promise<void>((done) => server.close(() => done()))
          server.closeAllConnections()
          return closed
        },
      })
    })
  })
}
