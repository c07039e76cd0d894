import { constants } from 'node:fs'
import { access, link, open, stat, unlink } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Database, Statement } from 'better-sqlite3'
import { Unavailable } from '../../../domain/refusal.ts'
import { isThere, makeFolder, unless } from '../../../lib/private-folder.ts'
import { type Lease, Unsuitable } from '../store-backend.ts'
import { connectReader, type Driver, type Place } from './connection.ts'
import { asFault, isBusy } from './faults.ts'
import { samenessOf } from './ping.ts'
import { type ReadTransaction, readTransaction } from './read-transaction.ts'
import type { WriterThread } from './thread.ts'
import { sqliteWriter, type Writer } from './writer.ts'

/** A statement that reads, on the event loop: some microseconds. Throws `Unavailable`. */
export interface Query<Parameters extends unknown[], Row> {
  get(...parameters: Parameters): Row | undefined
  all(...parameters: Parameters): Row[]
}

/** A row as `tuples` reads it: by place and not by name. */
export type ValuesOf<Row, Names extends readonly (keyof Row)[]> = { readonly [At in keyof Names]: Row[Names[At]] }

/** What the roles need of the opened file. */
export interface SqliteFile {
  query<Parameters extends unknown[], Row>(sql: string): Query<Parameters, Row>
  /** The same, with every row as an array of its columns' values: 1.6 µs in place of 2.8 for a user. */
  tuples<Parameters extends unknown[], Row extends readonly unknown[]>(sql: string): Query<Parameters, Row>
  /** Says that more is read at once: all until the running callback of the event loop ends, in one transaction. */
  together(): void
  write: Writer['run']
}

/** Disk trouble that may pass by itself; any other refusal of the file system needs somebody's hand. */
const passing = new Set(['EIO', 'ENOSPC', 'EDQUOT', 'EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN', 'EBUSY', 'ESTALE'])

export function sqliteFile(driver: Driver, place: Place, thread: Lease<WriterThread>, warn: (message: string) => void) {
  const writer = sqliteWriter(thread.value.opening(place))
  let demandSame = (): void => undefined
  let reader: Database | null = null
  let transaction: ReadTransaction | null = null
  let preparing: Promise<void> | null = null

  function query<Parameters extends unknown[], Row>(sql: string, isRaw = false): Query<Parameters, Row> {
    let statement: Statement<Parameters, Row> | null = null
    function read<T>(use: (statement: Statement<Parameters, Row>) => T): T {
      if (reader === null) throw new Unavailable('SQLite is not open')
      try {
        statement ??= reader.prepare<Parameters, Row>(sql).raw(isRaw)
        return use(statement)
      } catch (error) {
        throw asFault(error)
      }
    }
    return {
      get: (...parameters) => read((prepared) => prepared.get(...parameters)),
      all: (...parameters) => read((prepared) => prepared.all(...parameters)),
    }
  }

  /** What is written to a file that has lost its name is lost. */
  function demandSound(): void {
    if (reader === null) throw new Unavailable('SQLite is not open')
    demandSame()
  }

  async function openBoth(): Promise<void> {
    await createFile(place.path, warn)
    await writer.start()
    demandSame = samenessOf(place.path)
    reader = await connectedReader(driver, place)
    transaction = readTransaction(reader)
  }

  return {
    query: (sql) => query(sql),
    tuples: (sql) => query(sql, true),

    together() {
      try {
        transaction?.begin()
      } catch (error) {
        throw asFault(error)
      }
    },

    async write(name, ...args) {
      demandSound()
      const answer = await writer.run(name, ...args)
      transaction?.end() // whatever a program's fake timers keep from ending: what we wrote is read
      return answer
    },

    async prepare(): Promise<void> {
      if (reader !== null) return
      preparing ??= openBoth().finally(() => {
        preparing = null
      })
      await preparing
    },

    async ping(): Promise<void> {
      demandSound()
      await writer.run('ping')
    },

    async close(): Promise<void> {
      await preparing?.catch(() => {})
      reader?.close() // before the writer: who closes last moves the log into the file
      reader = null
      transaction = null
      await writer.close()
      await thread.release()
    },
  } satisfies SqliteFile & Record<string, unknown>
}

async function connectedReader(driver: Driver, place: Place): Promise<Database> {
  for (let attempt = 0; ; attempt++) {
    try {
      return connectReader(driver, place)
    } catch (error) {
      // Another process that opens or leaves the file locks it for a moment.
      if (!isBusy(error) || attempt === 100) throw asFault(error)
      await delay(10 + Math.random() * 20)
    }
  }
}

/**
 * Makes the folder and an empty file that only their owner may enter and read. The file is made under another
 * name: to open and close a file that SQLite may have open, in this process, takes its locks away (POSIX).
 */
async function createFile(path: string, warn: (message: string) => void): Promise<void> {
  const folder = dirname(path)
  const draft = `${path}.${process.pid}-${Math.random().toString(36).slice(2)}`
  try {
    await makeFolder(folder)
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK)
    if (!(await isThere(path))) {
      await (await open(draft, 'wx', 0o600)).close()
      try {
        await link(draft, path).catch(unless('EEXIST'))
      } finally {
        await unlink(draft)
      }
    }
    await access(path, constants.R_OK | constants.W_OK)
    const { mode } = await stat(path)
    if ((mode & 0o077) !== 0) warn(`${path} can be opened by other users of this machine: chmod 600 it`)
  } catch (error) {
    const code = errorCode(error)
    const isFile = error instanceof Error && 'path' in error && error.path === path
    const message = `${isFile ? path : `the data folder ${folder}`} cannot be used (${code})`
    if (passing.has(code)) throw new Unavailable(message, { cause: error })
    const wanted = isFile
      ? 'a file that this process may read and write'
      : 'a folder in which this process may create and write files'
    throw new Unsuitable(`${message}: it must be ${wanted}`)
  }
}

function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error)
}
