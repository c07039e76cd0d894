import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { pipeline } from 'node:stream'
import { createServer as createTlsServer } from 'node:tls'
import { expect } from 'chai'
import { MongoClient } from 'mongodb'
import { mongoBackend } from '../../../src/adapters/stores/mongo/mongo.ts'
import { type StoreHandle, Unsuitable } from '../../../src/adapters/stores/store-backend.ts'
import { faultOf } from '../../support/fault-of.ts'
import { certificate } from '../../support/servers/certificate.ts'
import { sharedMongo } from '../../support/servers/mongo-server.ts'
import { needsDeployment, onMongo } from '../../support/services/deployments.ts'
import { dropDatabase } from '../../support/stores/mongo.ts'
import { mongoSpy } from '../../support/stores/mongo-spy.ts'
import { expectUnavailable, recovers } from '../../support/stores/outages.ts'

interface Meta {
  readonly _id: string
  readonly version: number
}

const open = (url: string): Promise<StoreHandle> => mongoBackend.open({ url, clock: () => new Date(), warn() {} })

describe('a database of MongoDB at the start', () => {
  let url: string
  let client: MongoClient

  before(async function () {
    await needsDeployment(this, onMongo)
  })

  beforeEach(async () => {
    url = (await sharedMongo()).url()
    client = new MongoClient(url)
  })

  afterEach(async () => {
    await client.close()
    await dropDatabase(url)
  })

  it('is refused when it needs a newer release', async () => {
    const handle = await open(url)
    await handle.prepare()
    await handle.close()
    const meta = client.db().collection<Meta>('meta')
    const known = (await meta.findOne({ _id: 'schema' }))?.version ?? expect.fail('no version is recorded')
    await meta.updateOne({ _id: 'schema' }, { $set: { version: known + 1, oldest: known + 1 } })
    const users = client.db().collection('users')
    await users.dropIndex('passwordScheme')

    const later = await open(url)
    const fault = await faultOf(later.prepare())
    await later.close()
    expect(fault).to.be.instanceOf(Unsuitable)
    expect(String(fault)).to.include(`newer release (they need schema ${known + 1}; this release knows ${known})`)
    const names = (await users.indexes()).map(({ name }) => name)
    expect(names, 'the indexes of the newer release').to.not.include('passwordScheme')
  })

  it('is refused when its certificate is not trusted, and is used once its CA is known', async () => {
    const { key, cert, certFile } = certificate()
    const server = createTlsServer({ key, cert }, (socket) => {
      const plain = connect(Number(new URL(url).port), '127.0.0.1')
      pipeline(socket, plain, socket, () => undefined)
    })
    server.on('tlsClientError', () => undefined)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const address = new URL(url)
    address.port = String((server.address() as AddressInfo).port) // safe: it listens on a port
    address.searchParams.set('tls', 'true')

    const stranger = await open(address.href)
    const fault = await faultOf(stranger.prepare())
    await stranger.close()
    expect(fault).to.be.instanceOf(Unsuitable)
    expect(String(fault)).to.match(/certificate of the server is not trusted.*NODE_EXTRA_CA_CERTS/)

    address.searchParams.set('tlsCAFile', certFile)
    const handle = await open(address.href)
    await handle.prepare()
    await handle.close()
    server.close()
  })

  it('is unavailable until its indexes are built, however long that takes, and each build begins once', async () => {
    const address = new URL(url)
    const spy = await mongoSpy(Number(address.port))
    address.port = String(spy.port)
    const release = spy.hold('createIndexes')
    const handle = await open(address.href)
    const builds = () => spy.commands.filter(({ name }) => name === 'createIndexes').length
    try {
      const begun: number[] = []
      // Together they take longer than the time-out of a socket.
      for (let attempt = 0; attempt < 2; attempt++) {
        expect((await expectUnavailable(() => handle.prepare())).message).to.include('still builds indexes')
        begun.push(builds())
      }
      expect(begun[1]).to.equal(begun[0])
      release()
      await recovers(() => handle.prepare())
      expect(await handle.users?.list(1, null)).to.deep.equal({ items: [], next: null })
    } finally {
      release()
      await handle.close()
      await spy.close()
    }
  })
})
