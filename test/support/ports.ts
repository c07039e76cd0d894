import { once } from 'node:events'
import { createServer } from 'node:net'

/** Outside the ephemeral range (RFC 6335 section 6), so that the system gives the port to no other program. */
const anyPort = (): number => 20_000 + Math.floor(Math.random() * 12_000)

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
