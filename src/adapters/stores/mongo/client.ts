import { readFileSync } from 'node:fs'
import { createSecureContext, type SecureContextOptions } from 'node:tls'
import type { MongoClient } from 'mongodb'
import { Unsuitable } from '../store-backend.ts'
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
  const client = parsed(driver, url)
  judgeFiles(client)
  return client
}

function parsed(driver: Driver, url: string): MongoClient {
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

/** The driver reads these files once it connects, and what is wrong with them would look like an outage. */
function judgeFiles({ options }: MongoClient): void {
  const { tlsCAFile, tlsCRLFile, tlsCertificateKeyFile: keyFile } = options
  const ca = contentOf('tlsCAFile', tlsCAFile)
  // Node takes anything for a list of certificates, and then trusts nobody.
  if (ca !== undefined && !ca.includes('CERTIFICATE-----')) throw unusable('tlsCAFile holds no certificate')
  const crl = contentOf('tlsCRLFile', tlsCRLFile)
  if (crl !== undefined) usable({ crl }, 'tlsCRLFile holds no list of revoked certificates')
  const pem = contentOf('tlsCertificateKeyFile', keyFile)
  if (pem === undefined) return
  const own = { cert: pem, key: pem, passphrase: options.passphrase }
  usable(own, 'tlsCertificateKeyFile holds no certificate with its key')
}

function usable(options: SecureContextOptions, objection: string): void {
  try {
    createSecureContext(options)
  } catch {
    throw unusable(objection)
  }
}

const unusable = (objection: string) => new Unsuitable(`the address of MongoDB: its ${objection}`)

function contentOf(option: string, path: string | undefined): Buffer | undefined {
  try {
    return path === undefined ? undefined : readFileSync(path)
  } catch (error) {
    const why = error instanceof Error && 'code' in error ? ` (${error.code})` : ''
    throw unusable(`${option} cannot be read${why}`)
  }
}
