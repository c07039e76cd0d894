import { connect, createServer } from 'node:net'
import { BSON } from 'mongodb'
import { listen } from '../servers/ports.ts'

/** A command as a MongoDB server got it. */
export interface MongoCommand {
  readonly name: string
  readonly database: string
  readonly writeConcern: unknown
  readonly readConcern: unknown
}

export interface MongoSpy {
  readonly port: number
  readonly commands: MongoCommand[]
  /** From now on, commands of this name do not reach the server before the returned function is called. */
  hold(name: string): () => void
  close(): Promise<void>
}

const headerBytes = 16
const opMsg = 2013

/** A TCP proxy on a free loopback port before that of a MongoDB, which reads along. */
export async function mongoSpy(targetPort: number): Promise<MongoSpy> {
  const commands: MongoCommand[] = []
  let held: { readonly name: string; readonly released: Promise<void> } | null = null
  const server = createServer((client) => {
    const target = connect(targetPort, '127.0.0.1')
    let unread = Buffer.alloc(0)
    let passed: Promise<unknown> = Promise.resolve()
    client.on('data', (chunk) => {
      unread = Buffer.concat([unread, chunk])
      while (unread.length >= headerBytes && unread.length >= unread.readInt32LE(0)) {
        const message = unread.subarray(0, unread.readInt32LE(0))
        const command = commandOf(message)
        if (command !== null) commands.push(command)
        const released = command !== null && command.name === held?.name ? held.released : null
        passed = passed.then(() => released).then(() => target.write(message))
        unread = unread.subarray(message.length)
      }
    })
    target.on('data', (chunk) => client.write(chunk))
    for (const [one, other] of [
      [client, target],
      [target, client],
    ] as const) {
      one.on('error', () => other.destroy())
      one.on('close', () => other.destroy())
    }
  })
  return {
    port: await listen(server),
    commands,
    hold(name) {
      const { promise: released, resolve } = Promise.withResolvers<void>()
      held = { name, released }
      return resolve
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

/** Of an OP_MSG, whose first section is the command (MongoDB wire protocol). The handshake may be of an older form. */
function commandOf(message: Buffer): MongoCommand | null {
  if (message.readInt32LE(12) !== opMsg) return null
  const body = message.subarray(headerBytes + 4)
  if (body[0] !== 0) throw new Error('the first section is no command')
  const document = BSON.deserialize(body.subarray(1, 1 + body.readInt32LE(1)))
  const { $db: database, writeConcern, readConcern } = document
  return { name: Object.keys(document)[0] ?? '', database: String(database), writeConcern, readConcern }
}
