import type { MongoClient } from 'mongodb'
import { Unsuitable } from '../backend.ts'
import { reviveLostMonitors } from './lost-monitors.ts'

export type Driver = typeof import('mongodb')

/** A client, looked after, for any number of databases on the server. */
export interface Client {
  readonly client: MongoClient
  close(): Promise<void>
}

/** Nothing is connected yet. */
export function openClient(driver: Driver, url: string): Client {
  const client = clientOf(driver, url)
  const stopReviving = reviveLostMonitors(client)
  return {
    client,
    async close() {
      stopReviving()
      await client.close()
    },
  }
}

function clientOf(driver: Driver, url: string): MongoClient {
  try {
    return new driver.MongoClient(url, {
      appName: 'portcullis',
      serverSelectionTimeoutMS: 1500,
      connectTimeoutMS: 1500,
      socketTimeoutMS: 1800,
      waitQueueTimeoutMS: 1500,
      ignoreUndefined: true,
      ...(/[?&]maxPoolSize=/i.test(url) ? {} : { maxPoolSize: 50 }),
    })
  } catch (error) {
    // The cause is kept back: its message may repeat the address, with its password.
    throw new Unsuitable(`the address of MongoDB cannot be used (${error instanceof Error ? error.name : 'unknown'})`)
  }
}
