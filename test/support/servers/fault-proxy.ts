import { connect, createServer, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

/** A fault of the network between a client and its server. Times in milliseconds, one way. */
export type Fault =
  | 'pass'
  /** The port is closed: open connections are closed, new ones refused by the operating system. */
  | 'refuse'
  /** Everything is accepted and nothing arrives, in either direction, as with a pulled cable. */
  | 'black-hole'
  /** Open connections are reset (RST), new ones as soon as they are made. */
  | 'reset'
  | { readonly latency: number }

export interface FaultProxy {
  readonly port: number
  /** Resolves when every new byte and connection meets this fault. */
  set(fault: Fault): Promise<void>
  /** How many connections are open at this moment. */
  connections(): number
  close(): Promise<void>
}

/** A TCP proxy on a free loopback port in front of a loopback port, whose fault is switched while it runs. */
export async function faultProxy(targetPort: number): Promise<FaultProxy> {
  let fault: Fault = 'pass'
  const pairs = new Set<readonly [Socket, Socket]>()

  const server = createServer({ allowHalfOpen: true }, (client) => {
    client.on('error', () => {})
    if (fault === 'reset') {
      client.resetAndDestroy()
      return
    }
    const target = connect({ port: targetPort, host: '127.0.0.1', allowHalfOpen: true })
    target.on('error', () => {})
    const pair = [client, target] as const
    pairs.add(pair)
    forward(client, target, () => fault)
    forward(target, client, () => fault)
    client.on('close', () => {
      pairs.delete(pair)
      target.destroy()
    })
    target.on('close', () => {
      if (fault !== 'black-hole') client.destroy()
    })
  })

  const listen = (port: number): Promise<void> =>
    new Promise((resolve, reject) => {
      server.once('error', reject)
      server.listen(port, '127.0.0.1', () => {
        server.off('error', reject)
        resolve()
      })
    })
  const stopListening = (): Promise<void> => new Promise((resolve) => server.close(() => resolve()))

  function dropAll(drop: (socket: Socket) => void): void {
    for (const pair of pairs) pair.forEach(drop)
    pairs.clear()
  }

  /** Connections that either side gave up while the black hole kept it from the other. */
  function dropAbandoned(): void {
    for (const [client, target] of pairs) if (client.readableEnded || target.destroyed) client.destroy()
  }

  await listen(0)
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('a TCP server has an address')
  const { port } = address

  return {
    port,
    connections: () => pairs.size,

    async set(next) {
      fault = next
      if (next === 'refuse') {
        const stopped = server.listening ? stopListening() : null
        dropAll((socket) => socket.destroy())
        await stopped
        return
      }
      if (next !== 'black-hole') dropAbandoned()
      if (next === 'reset') dropAll((socket) => socket.resetAndDestroy())
      if (!server.listening) await listen(port)
    },

    async close() {
      const stopped = server.listening ? stopListening() : null
      dropAll((socket) => socket.destroy())
      await stopped
    },
  }
}

/** Copies bytes and the end, in order, each with the present fault. A black hole loses them. */
function forward(from: Socket, to: Socket, fault: () => Fault): void {
  let previous: Promise<unknown> = Promise.resolve()
  // A stream with a gap in it means nothing: once bytes are lost the connection stays dead.
  let isBroken = false

  function pass(deliver: () => void): void {
    const now = fault()
    const waited = typeof now === 'object' ? Promise.all([previous, delay(now.latency)]) : previous
    if (now === 'black-hole') isBroken = true
    previous = waited.then(() => {
      if (fault() === 'black-hole') isBroken = true
      if (!isBroken && to.writable) deliver()
    })
  }

  from.setNoDelay(true)
  from.on('data', (chunk) => pass(() => to.write(chunk)))
  from.on('end', () => pass(() => to.end()))
}
