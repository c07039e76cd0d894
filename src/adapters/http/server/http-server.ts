import { randomUUID } from 'node:crypto'
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { isTooLong, mayGoOn } from '../body/read-body.ts'
import { demandOfTls, headersOnEvery } from '../reply.ts'
import { requestPacing } from './request-pacing.ts'

/** Node's defaults let a client hold a connection for minutes before its request is complete. In milliseconds. */
const limits = {
  headersTimeout: 5_000,
  requestTimeout: 10_000,
  connectionsCheckingInterval: 1_000,
  keepAliveTimeout: 65_000, // longer than load balancers keep idle connections, so that they close first
  maxHeaderSize: 8_192,
  requireHostHeader: false, // Node's own refusal has no body: ours has one
}

/** A full backlog drops SYNs, and then a client tries again only after 1, 3 and 7 s. Linux caps it at `somaxconn`. */
const backlog = 4_096

/** Of all connections together, requests that came before an earlier one was answered. Each takes some 2 KiB. */
const mostWaiting = 10_000

/** How long somebody who still sends can read our last answer. */
const lingerMilliseconds = 1_000

export interface HttpServer {
  /** Resolves to the port. Rejects when the address cannot be had. */
  listen(host: string, port: number): Promise<number>
  /** Accepts nothing more, lets what runs finish for at most `graceSeconds`, then closes what is left. */
  close(graceSeconds: number): Promise<void>
}

interface Options {
  /** Whether browsers reach us by TLS. */
  readonly isTls: boolean
  /** At the last one, idle connections are closed; without any, new ones are refused. */
  readonly maxConnections: number
  /** How long a client may take no byte of its answer. */
  readonly writeTimeoutSeconds: number
  /** Called with the reason why a connection could not be accepted, at most once a second for `maxConnections`. */
  readonly notAccepted: (fault: Error) => void
}

export function httpServer(listener: RequestListener, options: Options): HttpServer {
  const { isTls, maxConnections, writeTimeoutSeconds, notAccepted } = options
  // By connection, so that its keys rarely change: a set of responses is rehashed again and again, and what V8's
  // dead tables hold lives until the next full collection. Measured: a fifth of the time of a request.
  const answering = new Map<Socket, ServerResponse | null>()
  /** Of a connection on which one request follows another before that is answered (RFC 9112 section 9.3.2): the one before. */
  const before = new WeakMap<ServerResponse, ServerResponse>()
  /** How many requests wait on each connection on which any has waited, and on all of them. */
  const waiting = new Map<Socket, number>()
  let allWaiting = 0
  const refused = new WeakSet<Socket>()
  let isClosing = false
  const begin = requestPacing()

  const take: RequestListener = (request, response) => {
    const { socket } = request
    if (socket.destroyed) return // Node reads a packet to its end
    const unfinished = answering.get(socket)
    if (unfinished) before.set(response, unfinished)
    answering.set(socket, response)
    response.once('close', () => {
      if (answering.get(socket) === response) answering.set(socket, null)
    })
    // The time-out of a connection also runs while an answer is being prepared; that takes as long as it takes.
    response.on('timeout', () => {
      if (response.writableEnded) socket.destroy()
    })
    // Node answers who asks for another protocol (RFC 9110 section 7.8) and drops what came with it: no more is asked here.
    if (request.headers.upgrade !== undefined) response.setHeader('Connection', 'close')
    if (isClosing) response.setHeader('Connection', 'close')
    if (mayGoOn(request)) socket.destroySoon = () => closeUnread(socket)
    if (!unfinished)
      return begin(() => {
        if (!socket.destroyed) listener(request, response)
      })
    // What follows may depend on what it changes (RFC 9112 section 9.3.2), and answers nobody takes would fill the memory.
    if (allWaiting === mostWaiting) return void socket.destroy()
    wait(socket, 1)
    unfinished.once('close', () => {
      wait(socket, -1)
      if (socket.writable) listener(request, response)
    })
  }
  function wait(socket: Socket, one: 1 | -1): void {
    if (socket.destroyed) return
    waiting.set(socket, (waiting.get(socket) ?? 0) + one)
    allWaiting += one
  }
  function forget(socket: Socket): void {
    answering.delete(socket)
    allWaiting -= waiting.get(socket) ?? 0
    waiting.delete(socket)
  }
  const server: Server = createServer(limits, take)
  server.timeout = writeTimeoutSeconds * 1000
  server.maxConnections = maxConnections
  let open = 0
  server.on('connection', (socket: Socket) => {
    open += 1
    socket.once('close', () => {
      open -= 1
    })
    if (open >= maxConnections) server.closeIdleConnections()
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
  // RFC 9110 section 10.1.1: nobody is asked to send what is refused already, and other expectations may be ignored.
  server.on('checkContinue', (request, response) => {
    if (!isTooLong(request.headers)) response.writeContinue()
    take(request, response)
  })
  server.on('checkExpectation', take)
  server.on('connect', (_request, socket: Socket) => {
    // Node leaves the socket to us, with all that may happen to it, and sees to no answer on it any more.
    socket.on('error', () => undefined)
    if (answering.get(socket)) socket.destroy()
    else refuse(socket)
  })
  server.on('connection', (socket: Socket) => socket.once('close', () => forget(socket)))

  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (socket.writable && error.code !== 'ECONNRESET') refuse(socket, error.code)
    else socket.destroy()
  })

  /** In the place of an answer that is its own: what is still to be answered comes first. */
  function refuse(socket: Socket, code?: string): void {
    if (refused.has(socket)) return // each packet more is unreadable anew
    refused.add(socket)
    const last = answering.get(socket)
    const answer = (): void => {
      if (socket.writable) socket.write(unreadable(code, isTls))
      closeGently(socket)
    }
    if (last?.req.complete) {
      socket.pause()
      last.once('close', answer)
    } else if (last && before.get(last)?.writableFinished === false) {
      socket.destroy() // its own request is what is broken, and another's answer would be taken for this
    } else {
      answer()
    }
  }

  return {
    listen(host, port) {
      return new Promise((resolve, reject) => {
        server.once('error', reject)
        server.listen({ port, host, backlog }, () => {
          server.off('error', reject)
          server.on('error', notAccepted)
          resolve((server.address() as AddressInfo).port) // safe: a listening TCP server has one
        })
      })
    },
    close(graceSeconds) {
      isClosing = true
      for (const response of answering.values()) {
        if (response?.headersSent === false) response.setHeader('Connection', 'close')
      }
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

/**
 * Lets what was answered arrive first: a connection that is closed while the other side sends is reset, which may take
 * the answer with it (RFC 9112 section 9.6).
 */
function closeGently(socket: Socket): void {
  socket.end()
  setTimeout(() => socket.destroy(), lingerMilliseconds).unref()
}

/** What is left of the request stays where it is. */
function closeUnread(socket: Socket): void {
  closeGently(socket)
  setImmediate(() => socket.pause()) // after Node, which goes on to read
}

/** What Node cannot read as HTTP never becomes a request; its sender gets an answer of our form all the same. */
function unreadable(code: string | undefined, isTls: boolean): string {
  const [status, reason] =
    code === 'HPE_HEADER_OVERFLOW'
      ? [431, 'Request Header Fields Too Large']
      : code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? [408, 'Request Timeout']
        : [400, 'Bad Request']
  const body = JSON.stringify({ detail: reason })
  const headers = [...headersOnEvery, ['X-Request-Id', randomUUID()], ...(isTls ? [demandOfTls] : [])]
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
