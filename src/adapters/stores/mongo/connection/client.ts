import { setTimeout as delay } from 'node:timers/promises'
import type { MongoClient, ServerHeartbeatStartedEvent } from 'mongodb'
import { Unsuitable } from '../../store-backend.ts'

export type Driver = typeof import('mongodb')

export type Client = ReturnType<typeof openClient>

/** Of all processes that serve together. */
const mostOfAll = 50
const leastOfOne = 5

/** One client serves any number of databases on its server. */
export function openClient(driver: Driver, url: string, processes = 1) {
  const client = clientOf(driver, url, Math.max(leastOfOne, Math.floor(mostOfAll / processes)))
  const stopReviving = reviveLostMonitors(client)
  return {
    client,
    async close(): Promise<void> {
      stopReviving()
      await client.close()
    },
  }
}

function clientOf(driver: Driver, url: string, maxPoolSize: number): MongoClient {
  try {
    return new driver.MongoClient(url, {
      appName: 'portcullis',
      serverSelectionTimeoutMS: 1500,
      connectTimeoutMS: 1500,
      socketTimeoutMS: 1800,
      waitQueueTimeoutMS: 1500,
      ignoreUndefined: true,
      ...(/[?&]maxPoolSize=/i.test(url) ? {} : { maxPoolSize }),
    })
  } catch (error) {
    // The cause is left out, because its message may repeat the address with its password.
    throw new Unsuitable(`the address of MongoDB cannot be used (${error instanceof Error ? error.name : 'unknown'})`)
  }
}

const marginMs = 500
const betweenAttemptsMs = 500

/**
 * Reconnects the client when it no longer monitors a server. Driver 7.9 waits for ever for the reply to a heartbeat
 * that it writes to a socket which the server has just closed. Without this, we would not find a server that restarts
 * at that moment until this process restarts.
 *
 * @returns stops the watch; call it before closing the client for good
 */
export function reviveLostMonitors(client: MongoClient): () => void {
  const { connectTimeoutMS, heartbeatFrequencyMS } = client.options
  const timers = new Map<string, NodeJS.Timeout>()
  let reviving: Promise<void> | null = null
  let isStopped = false

  function onStarted({ connectionId, awaited }: ServerHeartbeatStartedEvent): void {
    onEnded({ connectionId })
    // The driver's time-outs to connect, to get an answer, and to wait for news.
    const limit = 2 * connectTimeoutMS + (awaited ? heartbeatFrequencyMS : 0) + marginMs
    timers.set(connectionId, setTimeout(lost, limit).unref())
  }

  function onEnded({ connectionId }: { readonly connectionId: string }): void {
    clearTimeout(timers.get(connectionId))
    timers.delete(connectionId)
  }

  function clearAll(): void {
    for (const connectionId of [...timers.keys()]) onEnded({ connectionId })
  }

  function lost(): void {
    if (!isStopped) reviving ??= revive().finally(() => (reviving = null))
  }

  async function revive(): Promise<void> {
    await client.close()
    clearAll()
    while (!isStopped) {
      try {
        await client.connect()
        break
      } catch {
        await delay(betweenAttemptsMs, undefined, { ref: false })
      }
    }
    if (isStopped) await client.close() // the caller closed it while it was connecting
  }

  client.on('serverHeartbeatStarted', onStarted)
  client.on('serverHeartbeatSucceeded', onEnded)
  client.on('serverHeartbeatFailed', onEnded)
  client.on('serverClosed', ({ address }) => onEnded({ connectionId: address }))

  return () => {
    isStopped = true
    clearAll()
  }
}
