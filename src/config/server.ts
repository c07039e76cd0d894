import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Node's defaults let a client hold a connection for minutes before its request is complete. In milliseconds. */
const limits = {
  headersTimeout: 5_000,
  requestTimeout: 10_000,
  connectionsCheckingInterval: 1_000,
  keepAliveTimeout: 65_000, // longer than load balancers keep idle connections, so that they close first
  maxHeaderSize: 8_192,
}

export interface HttpServer {
  /** Resolves to the port. Rejects when the address cannot be had. */
  listen(host: string, port: number): Promise<number>
  /** Accepts nothing more, lets what runs finish for at most `graceSeconds`, then closes what is left. */
  close(graceSeconds: number): Promise<void>
}

export function httpServer(listener: RequestListener): HttpServer {
  const answering = new Set<ServerResponse>()
  let isClosing = false

  const server: Server = createServer(limits, (request, response) => {
    answering.add(response)
    response.once('close', () => answering.delete(response))
    if (isClosing) response.setHeader('Connection', 'close')
    listener(request, response)
  })

  return {
    listen(host, port) {
      return new Promise((resolve, reject) => {
        server.once('error', reject)
        server.listen(port, host, () => {
          server.off('error', reject)
          resolve((server.address() as AddressInfo).port) // safe: a listening TCP server has one
        })
      })
    },
    close(graceSeconds) {
      isClosing = true
      for (const response of answering) if (!response.headersSent) response.setHeader('Connection', 'close')
      return new Promise((resolve) => {
        const timer = setTimeout(() => server.closeAllConnections(), graceSeconds * 1000)
        server.close(() => {
          clearTimeout(timer)
          resolve()
        })
      })
    },
  }
}
