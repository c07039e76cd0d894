import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { type AddressInfo, type Socket, Server as TcpServer } from 'node:net'
import { setImmediate as nextIteration } from 'node:timers/promises'
import { standardHeaders, strictTransportSecurity } from '../reply.ts'
import { requestPacing } from './request-pacing.ts'

/** Node's defaults let a client hold a connection for minutes before its request is complete. In milliseconds. */
const limits = {
  headersTimeout: 5_000,
  requestTimeout: 10_000,
  connectionsCheckingInterval: 1_000,
  keepAliveTimeout: 65_000, // longer than load balancers keep idle connections, so that they close first
  maxHeaderSize: 8_192,
  requireHostHeader: false, // Node's own refusal has no body; `answer` refuses with one
}

/** A full backlog drops SYNs, and then a client tries again only after 1, 3 and 7 s. Linux caps it at `somaxconn`. */
const backlog = 4_096

/** The limit for one connection. Real clients do not pipeline, but an attacker could fill the memory by 2 KiB each. */
const mostUnanswered = 16

const lingerMilliseconds = 1_000

/** Listening ends after a short iteration of the event loop. The wait for one lasts no longer than this. */
const quietMilliseconds = 500

/** The checks of an answer that its client does not read, within one time-out. */
const checksUntilClosed = 10

interface Options {
  readonly isTls: boolean
  /** At this limit, idle connections are closed. If none is idle, new ones are refused. */
  readonly maxConnections: number
  /** The longest time in which a client may read no byte of its answer. */
  readonly writeTimeoutSeconds: number
  /** The client of a request; `null` if unknown. Under load, clients take turns. */
  readonly clientOf: (request: IncomingMessage) => string | null
  /** Called with the reason why a connection could not be accepted, at most once a second for `maxConnections`. */
  readonly notAccepted: (fault: Error) => void
}

/** The port is bound before anything can answer, so requests wait until `serve`. */
export function httpServer(options: Options) {
  const { isTls, maxConnections, writeTimeoutSeconds, clientOf, notAccepted } = options
  /** The responses of each connection that have not ended, with the start of their requests. */
  const connections = new Map<Socket, Map<ServerResponse, () => void>>()
  const begin = requestPacing()
  const served = Promise.withResolvers<RequestListener>()
  let listener: RequestListener = async (request, response) => (await served.promise)(request, response)
  let isClosing = false
  let accepted = 0

  function turnOf(request: IncomingMessage): string | null {
    try {
      return clientOf(request)
    } catch {
      return null // the client has reset the connection, so its address is gone
    }
  }

  const server = createServer(limits, (request, response) => {
    const { socket } = request
    const unanswered = connections.get(socket)
    if (unanswered === undefined || !socket.writable) return // Node still parses what arrives after our FIN
    if (unanswered.size === mostUnanswered) return void socket.destroy()
    const start = () =>
      begin(
        () => {
          if (socket.writable) listener(request, response)
        },
        () => turnOf(request),
      )
    unanswered.set(response, start)
    response.once('close', () => {
      unanswered.delete(response)
      const [startNext] = unanswered.values()
      startNext?.()
      // A connection may become idle only after the limit was reached.
      if (unanswered.size === 0 && connections.size >= maxConnections) socket.destroy()
    })
    closeUnread(response, socket, writeTimeoutSeconds * 1000)
    if (isClosing) response.setHeader('Connection', 'close')
    // Pipelined requests run one after the other, so that other connections need not wait for all of them.
    if (unanswered.size === 1) start()
  })
  server.timeout = writeTimeoutSeconds * 1000
  server.maxConnections = maxConnections
  // Among several processes, the connections would go round until one has room, and keep all of them busy.
  Object.assign(server, { dropMaxConnection: true })

  server.on('connection', (socket: Socket) => {
    accepted += 1
    connections.set(socket, new Map())
    socket.once('close', () => connections.delete(socket))
    socket.destroySoon = () => linger(socket) // Node calls it after the last answer
    if (connections.size >= maxConnections) server.closeIdleConnections()
  })

  let isReported = false
  server.on('drop', () => {
    if (isReported) return
    isReported = true
    setTimeout(() => {
      isReported = false
    }, 1_000).unref()
    notAccepted(new Error(`http.maxConnections is reached: ${maxConnections}`))
  })

  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (!socket.writable) return
    const unanswered = [...(connections.get(socket)?.keys() ?? [])]
    const isMidAnswer = unanswered.some(({ headersSent }) => headersSent)
    if (isMidAnswer || error.code === 'ECONNRESET') return void socket.destroy()
    const latest = unanswered.findLast(({ req }) => req.complete)
    if (latest !== undefined) return void latest.setHeader('Connection', 'close') // the fault is in later bytes
    socket.write(refusal(error.code, isTls))
    linger(socket)
  })

  /**
   * The end of listening resets the connections that wait in the queue. Node accepts one in each iteration of the event loop,
   * before its requests. So listening ends after an iteration that accepted none and was too short for new ones.
   * A flood does not prolong this, because the queue had at most `backlog` connections.
   */
  async function acceptWaiting(): Promise<void> {
    await nextIteration()
    const quietUntil = performance.now() + quietMilliseconds
    for (let left = backlog; left > 0; left -= 1) {
      const before = accepted
      const began = performance.now()
      await nextIteration()
      const now = performance.now()
      if (accepted === before && (now - began < 1 || now > quietUntil)) return
    }
  }

  return {
    /** Resolves to the port. */
    async listen(host: string, port: number): Promise<number> {
      await once(server.listen({ port, host, backlog }), 'listening')
      server.on('error', notAccepted)
      return (server.address() as AddressInfo).port // safe: a listening TCP server has one
    },
    /** Answers the requests that wait, and all later ones. */
    serve(given: RequestListener): void {
      listener = given
      served.resolve(given)
    },
    /**
     * Accepts no more connections. Until `drained` resolves, each connection closes after its next answer. Then closes idle
     * connections, waits up to `graceSeconds` for running requests, and closes the others.
     */
    async close(graceSeconds: number, drained: Promise<unknown> = Promise.resolve()): Promise<void> {
      isClosing = true
      for (const unanswered of connections.values()) {
        const latest = [...unanswered.keys()].at(-1)
        if (latest?.headersSent === false) latest.setHeader('Connection', 'close')
      }
      const closed = once(server, 'close')
      await acceptWaiting()
      TcpServer.prototype.close.call(server) // the HTTP server's own would close idle connections, too
      await drained
      await nextIteration() // connections whose requests have arrived are not idle
      server.closeIdleConnections()
      // Node does not count a connection as idle before its first request. Browsers open such connections in advance.
      for (const socket of connections.keys()) if (socket.bytesRead === 0) socket.destroy()
      const timer = setTimeout(() => server.closeAllConnections(), graceSeconds * 1000)
      await closed
      clearTimeout(timer)
    },
  }
}

/**
 * Sends FIN and keeps the connection for a second. Closing it while the client still sends would reset it, and the reset may
 * delete the answer before the client reads it (RFC 9112 section 9.6).
 */
function linger(socket: Socket): void {
  socket.end(() => setTimeout(() => socket.destroy(), lingerMilliseconds).unref())
}

/**
 * Closes the connection when its client has read no byte of the answer for this time, or up to a tenth longer. At each time-out
 * Node looks whether the client has read since the last one, so a single time-out would last up to twice as long.
 */
function closeUnread(response: ServerResponse, socket: Socket, milliseconds: number): void {
  const interval = milliseconds / checksUntilClosed
  let unread = 0
  let lastCheck = 0
  socket.setTimeout(interval) // after the answer, Node sets the time-out of idle connections
  response.on('timeout', () => {
    if (!response.writableEnded) return // the answer is being prepared, which may take longer
    const now = performance.now()
    const hasRead = now - lastCheck > 1.5 * interval // Node is silent about the checks in between
    unread = hasRead ? 1 : unread + 1
    lastCheck = now
    // A close by FIN would leave the unread answer in the kernel for minutes.
    if (unread === checksUntilClosed) socket.resetAndDestroy()
    else socket.setTimeout(interval)
  })
}

function refusal(code: string | undefined, isTls: boolean): string {
  const [status, reason] =
    code === 'HPE_HEADER_OVERFLOW'
      ? [431, 'Request Header Fields Too Large']
      : code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? [408, 'Request Timeout']
        : [400, 'Bad Request']
  const body = JSON.stringify({ detail: reason })
  const headers = [...standardHeaders, ['X-Request-Id', randomUUID()], ...(isTls ? [strictTransportSecurity] : [])]
  return [
    `HTTP/1.1 ${status} ${reason}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...headers.map(([name, value]) => `${name}: ${value}`),
    'Connection: close',
    '',
    body,
  ].join('\r\n')
}
