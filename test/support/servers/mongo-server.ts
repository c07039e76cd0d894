import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { accessSync, constants, rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { MongoClient } from 'mongodb'
import { buildMongoStandIn } from '../../../scripts/mongo-stand-in.mjs'
import { freePort } from './ports.ts'

export interface MongoServer {
  /** The address of the named database, or of a new one. */
  url(databaseName?: string): string
  /** The process of the server; `null` while it is stopped, and for the server at `MONGODB_URL`. */
  readonly pid: number | null
  /** Ends the server in order. */
  stop(): Promise<void>
  /** Serves again after `stop`, on the same port and with the same data. */
  restart(): Promise<void>
  /** Ends the server and removes its data. */
  destroy(): Promise<void>
}

/** This machine can run no MongoDB; the message has the reason. */
export class NoMongo extends Error {}

/** A program that serves MongoDB's protocol on a port, with its data in a folder. */
interface Program {
  readonly command: string
  arguments(port: number, folder: string, keeps: boolean): string[]
}

const aDatabaseName = (): string => `portcullis-test-${randomUUID()}`

let shared: Promise<MongoServer> | undefined

/**
 * The server that all tests of a run share: the one at `MONGODB_URL`, else one that is started at the first call
 * and ends with this process. Throws `NoMongo`.
 */
export function sharedMongo(): Promise<MongoServer> {
  const given = process.env.MONGODB_URL
  shared ??= given === undefined ? startMongo({ keeps: false }) : Promise.resolve(serverAt(given))
  return shared
}

/** A server that the test may stop and restart. Throws `NoMongo`. */
export async function startMongo({ keeps = true } = {}): Promise<MongoServer> {
  program ??= findProgram()
  const { command, arguments: argumentsFor } = await program
  const folder = await mkdtemp(join(tmpdir(), 'portcullis-mongo-'))
  const port = await freePort()
  let child: ChildProcess | null = null

  async function start(): Promise<void> {
    // The stand-in ends when its standard input does, and so with this process, however that ends.
    child = spawn(command, argumentsFor(port, folder, keeps), { stdio: ['pipe', 'ignore', 'ignore'] })
    child.unref()
    // A pipe to a child is a socket, though its type does not say so.
    ;(child.stdin as Socket | null)?.unref()
    await answering(port, child)
  }

  async function end(signal: NodeJS.Signals): Promise<void> {
    const ending = child
    child = null
    if (ending === null || ending.exitCode !== null || ending.signalCode !== null) return
    ending.ref()
    ending.kill(signal)
    await once(ending, 'exit')
  }

  const removeData = () => rmSync(folder, { recursive: true, force: true })
  const atExit = () => {
    child?.kill('SIGKILL')
    removeData()
  }
  process.once('exit', atExit)
  await start()

  return {
    url: (databaseName = aDatabaseName()) => `mongodb://127.0.0.1:${port}/${databaseName}?retryWrites=false`,
    get pid() {
      return child?.pid ?? null
    },
    stop: () => end('SIGTERM'),
    restart: start,
    async destroy() {
      await end('SIGKILL')
      process.removeListener('exit', atExit)
      removeData()
    },
  }
}

function serverAt(address: string): MongoServer {
  const cannot = () => Promise.reject(new NoMongo('the server at MONGODB_URL is not ours to stop'))
  return {
    pid: null,
    url(databaseName = aDatabaseName()) {
      const url = new URL(address)
      url.pathname = `/${databaseName}`
      return url.href
    },
    stop: cannot,
    restart: cannot,
    destroy: cannot,
  }
}

let program: Promise<Program> | undefined

async function findProgram(): Promise<Program> {
  const installed = onPath('mongod')
  if (installed !== null) return mongod(installed)
  if (process.env.TEST_DOWNLOADS === '1') {
    const { MongoBinary } = await import('mongodb-memory-server-core')
    return mongod(await MongoBinary.getPath())
  }
  const java = onPath('java')
  if (java === null || onPath('javac') === null || onPath('mvn') === null) {
    throw new NoMongo('there is no MONGODB_URL, no mongod and no TEST_DOWNLOADS=1, nor Java and Maven for a stand-in')
  }
  try {
    const standIn = await buildMongoStandIn()
    return {
      command: java,
      arguments: (port, folder, keeps) => [...standIn, String(port), ...(keeps ? [join(folder, 'data')] : [])],
    }
  } catch (error) {
    throw new NoMongo(`there is no mongod, and its stand-in could not be built: ${error}`)
  }
}

function mongod(command: string): Program {
  return {
    command,
    arguments: (port, folder) => ['--port', String(port), '--dbpath', folder, '--bind_ip', '127.0.0.1', '--quiet'],
  }
}

function onPath(name: string): string | null {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    try {
      const file = join(folder, name)
      accessSync(file, constants.X_OK)
      return file
    } catch {}
  }
  return null
}

/** Waits until the server has answered: its first answer takes long, and our stores wait for one less than 2 s. */
async function answering(port: number, child: ChildProcess): Promise<void> {
  for (const deadline = performance.now() + 60_000; !(await accepts(port)); await sleep(20)) {
    if (child.exitCode !== null) throw new NoMongo(`the server ended at once with exit code ${child.exitCode}`)
    if (performance.now() > deadline) throw new NoMongo('the server did not start within 60 s')
  }
  const client = new MongoClient(`mongodb://127.0.0.1:${port}`, { serverSelectionTimeoutMS: 60_000 })
  await client.db('admin').command({ ping: 1 })
  await client.close()
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
