import { once } from 'node:events'
import { connect } from 'node:net'
import { createInterface } from 'node:readline'

export interface RedisMonitor {
  /** Words of each command that the server got from anybody, in order. */
  readonly commands: string[][]
  close(): void
}

/** Reads along what a Redis is asked (MONITOR). */
export async function monitorRedis(port: number): Promise<RedisMonitor> {
  const commands: string[][] = []
  const socket = connect(port, '127.0.0.1')
  const lines = createInterface({ input: socket })
  socket.write('MONITOR\r\n')
  const [reply] = await once(lines, 'line')
  if (reply !== '+OK') throw new Error(`MONITOR was answered with ${reply}`)
  // +1700000000.123456 [0 127.0.0.1:40818] "set" "a key" "\x00"
  lines.on('line', (line: string) => {
    commands.push([...line.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, word = '']) => word))
  })
  return { commands, close: () => socket.destroy() }
}
