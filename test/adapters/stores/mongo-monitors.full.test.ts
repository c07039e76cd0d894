import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import { MongoClient } from 'mongodb'
import { reviveLostMonitors } from '../../../src/adapters/stores/mongo/connection/client.ts'
import { faultOf } from '../../support/fault-of.ts'
import { sharedMongo } from '../../support/servers/mongo-server.ts'
import { needsDeployment, onMongo } from '../../support/services/deployments.ts'

/** In milliseconds, and short: heartbeats of a server on loopback take one or two, and some more on a busy machine. */
const limits = { connectTimeoutMS: 1000, heartbeatFrequencyMS: 500 }

describe('a client of MongoDB without an answer to its heartbeat', () => {
  let client: MongoClient
  let stop: () => void

  before(async function () {
    await needsDeployment(this, onMongo)
  })

  beforeEach(async () => {
    client = new MongoClient((await sharedMongo()).url(), limits)
    stop = reviveLostMonitors(client)
    await client.connect()
  })

  afterEach(async () => {
    stop()
    await client.close()
  })

  /** The event of the driver at the start of a heartbeat, for a server that never answers it. */
  const heartbeat = {
    connectionId: 'a-server-that-is-silent:27017',
    awaited: false,
    name: 'serverHeartbeatStarted',
  } as const
  const answers = () => client.db().command({ ping: 1 })

  it('reconnects and works', async () => {
    const reconnected = once(client, 'topologyOpening')
    client.emit('serverHeartbeatStarted', heartbeat)
    await reconnected
    expect(await answers()).to.have.property('ok', 1)
  })

  it('stays closed when it is closed during a reconnection', async () => {
    client.emit('serverHeartbeatStarted', heartbeat)
    await once(client, 'topologyClosed')
    stop()
    await client.close()
    await delay(200)
    expect(await faultOf(answers()))
      .to.have.property('name')
      .that.matches(/^Mongo(NotConnected|ClientClosed|TopologyClosed)Error$/)
  })
})
