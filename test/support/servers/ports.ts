import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'

/**
 * Outside the ephemeral range (RFC 6335 section 6), so that the system gives the port to no other program. Each process of
 * a parallel run has ports of its own, since a port stays free until the server that gets it listens.
 */
const [firstPort, portsOfProcess, processes] = [20_000, 750, 16]
const ofProcess = firstPort + (Number(process.env.MOCHA_WORKER_ID ?? 0) % processes) * portsOfProcess
let next = Math.floor(Math.random() * portsOfProcess)
const anyPort = (): number => ofProcess + (next++ % portsOfProcess)

/** `wanted` if no program listens there, otherwise another loopback port. */
export async function freePort(wanted = anyPort()): Promise<number> {
  for (let port = wanted; ; port = anyPort()) {
    const server = createServer().listen(port, '127.0.0.1')
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    )
    if (!isFree) continue
    server.close()
    await once(server, 'close')
    return port
  }
}

/** Makes a server listen on a free loopback port. Returns the port. */
export async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port // safe: it listens on a port
}
