import { timers } from '../../../../lib/timers.ts'
import type { EventAnnouncements, OpenOptions, Shares } from '../../store-backend.ts'
import { addressOf, type PostgresOptions } from './address.ts'
import type { Connection } from './connection.ts'
import type { Driver } from './faults.ts'
import { openServers } from './servers.ts'
import { longestWaitMs } from './session.ts'

const channel = 'portcullis'
const reopenMs = 1_000
/** A firewall or a dead host ends an idle connection without a word. */
const checkMs = 30_000
const timed = (text: string) => ({ text, query_timeout: longestWaitMs }) // the declared type lacks the last

interface Needs extends Pick<OpenOptions, 'warn'>, PostgresOptions {
  readonly driver: Driver
  readonly shares: Shares
}

/** The announcements of one schema. A transaction of its own makes them, because a NOTIFY delays the commits of all others. */
export function announcementsOf({ change, schema }: Pick<Connection, 'change' | 'schema'>, needs: Needs) {
  const ends: (() => unknown)[] = []
  let isAnnouncing = false
  let isAgain = false

  async function announceOnce(): Promise<void> {
    isAnnouncing = true
    do {
      isAgain = false
      await change(`SELECT pg_notify('${channel}', $1)`, [schema]).catch(() => undefined)
    } while (isAgain)
    isAnnouncing = false
  }

  return {
    announce() {
      if (isAnnouncing) isAgain = true
      else void announceOnce()
    },
    listen(wake) {
      const url = needs.directUrl ?? needs.url
      const { value, release } = needs.shares.lease(
        `postgres announcements ${url}`,
        () => listenTo(needs, url),
        (listener) => listener.close(),
      )
      ends.push(value.on(schema, wake), release)
    },
    async close() {
      await Promise.all(ends.map((end) => end()))
    },
  } satisfies EventAnnouncements & { close(): Promise<void> }
}

/** Listens for all schemas on one connection, and opens it again when it ends. Behind a pooler, polling alone finds events. */
function listenTo({ driver, directUrl, warn }: Needs, url: string) {
  const address = addressOf(url)
  if (address === null) throw new TypeError('the settings have accepted an address that cannot be used')
  const servers = openServers(driver, address, 1)
  const heard = new Map<string, Set<() => void>>()
  let isClosed = false
  let isReported = false
  let end = (): void => undefined

  /** Resolves when the connection has ended, or says that there is a pooler. */
  async function listenOnce(): Promise<'ended' | 'pooled'> {
    const client = await servers.connect()
    const ended = Promise.withResolvers<void>()
    end = ended.resolve
    client.once('end', end)
    client.on('notification', ({ payload = '' }) => {
      for (const wake of heard.get(payload) ?? []) wake()
    })
    const endChecks = timers.every(checkMs, () => void client.query(timed('SELECT 1')).catch(end))
    try {
      if (!servers.isDirect(client)) return 'pooled'
      await client.query(timed(`LISTEN ${channel}`))
      isReported = false
      if (!isClosed) await ended.promise
      return 'ended'
    } finally {
      endChecks()
      client.release(true)
    }
  }

  /** Without a `directUrl`, the address is that of the store, whose outage has a line of its own. */
  function report(fault: string): void {
    if (directUrl === undefined || isReported || isClosed) return
    isReported = true
    warn(`directUrl ${fault}, so events wait for the next poll`)
  }

  async function listen(): Promise<void> {
    while (!isClosed) {
      const outcome = await listenOnce().catch((error) => report(`cannot be used (${error.message || error.code})`))
      if (outcome === 'pooled') return report('leads through a pooler')
      if (!isClosed) await timers.pause(reopenMs)
    }
  }

  void listen()
  return {
    /** Calls `wake` for each announcement of this schema, until the returned function is called. */
    on(schema: string, wake: () => void): () => void {
      const wakes = heard.get(schema) ?? new Set()
      heard.set(schema, wakes.add(wake))
      return () => void wakes.delete(wake)
    },

    async close(): Promise<void> {
      isClosed = true
      end()
      await servers.end()
    },
  }
}
