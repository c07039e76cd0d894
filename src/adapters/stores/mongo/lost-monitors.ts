import { setTimeout as delay } from 'node:timers/promises'
import type { MongoClient, ServerHeartbeatStartedEvent } from 'mongodb'

/** What the driver allows a heartbeat: to connect, and to be answered; one that waits for news, its frequency besides. */
interface Limits {
  readonly connectTimeoutMS: number
  readonly heartbeatFrequencyMS: number
}

const marginMs = 500
const betweenAttemptsMs = 500

/**
 * Connects the client anew when it has stopped looking for a server. Driver 7.9 waits for ever for the reply to
 * a heartbeat that it writes to a socket whose other side has just closed it (destroyed, but its event `close` not
 * yet seen: no event of the socket follows). As no other heartbeat follows either, a server that comes back would
 * stay unknown until this process is restarted.
 *
 * @returns what ends the watch, to be called before the client is closed for good
 */
export function reviveLostMonitors(client: MongoClient, limits: Limits = client.options): () => void {
  const { connectTimeoutMS, heartbeatFrequencyMS } = limits
  const begun = new Map<string, NodeJS.Timeout>()
  let reviving: Promise<void> | null = null
  let isOver = false

  function started({ connectionId, awaited }: ServerHeartbeatStartedEvent): void {
    ended({ connectionId })
    const limit = 2 * connectTimeoutMS + (awaited ? heartbeatFrequencyMS : 0) + marginMs
    begun.set(connectionId, setTimeout(lost, limit).unref())
  }

  function ended({ connectionId }: { readonly connectionId: string }): void {
    clearTimeout(begun.get(connectionId))
    begun.delete(connectionId)
  }

  function forgetAll(): void {
    for (const connectionId of [...begun.keys()]) ended({ connectionId })
  }

  function lost(): void {
    if (!isOver) reviving ??= revive().finally(() => (reviving = null))
  }

  async function revive(): Promise<void> {
    await client.close()
    forgetAll()
    while (!isOver) {
      try {
        await client.connect()
        break
      } catch {
        await delay(betweenAttemptsMs, undefined, { ref: false })
      }
    }
    if (isOver) await client.close() // it was connected again while somebody closed it
  }

  client.on('serverHeartbeatStarted', started)
  client.on('serverHeartbeatSucceeded', ended)
  client.on('serverHeartbeatFailed', ended)
  client.on('serverClosed', ({ address }) => ended({ connectionId: address }))

  return () => {
    isOver = true
    forgetAll()
  }
}
