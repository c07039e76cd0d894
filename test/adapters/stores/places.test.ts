import { mkdir, mkdtemp, realpath, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { clientKey, partsOf } from '../../../src/adapters/stores/mongo/address.ts'
import { mongoBackend } from '../../../src/adapters/stores/mongo/mongo.ts'
import { connectionKey } from '../../../src/adapters/stores/redis/address.ts'
import { redisBackend } from '../../../src/adapters/stores/redis/redis.ts'
import { sqliteBackend } from '../../../src/adapters/stores/sqlite/sqlite.ts'
import type { StoreAddress, StoreBackend } from '../../../src/adapters/stores/store-backend.ts'
import { stores } from '../../../src/config/plugins/stores.ts'

const at = (url: string | null, prefix: string | null = null): StoreAddress => ({ url, prefix, dataFolder: '' })
const placeIn = (backend: StoreBackend, address: StoreAddress) => backend.placeOf?.(address) ?? null
const inherited = (backend: StoreBackend, address: StoreAddress, tenant = 'acme') =>
  backend.inherited?.(address, tenant) ?? address

describe('the place of a tenant’s records', () => {
  it('is nowhere for a store that lives in the process', () => {
    const memory = stores.filter(({ kind }) => kind === 'memory')
    expect(memory.map((backend) => placeIn(backend, at(null)))).to.deep.equal([null])
  })

  describe('in redis', () => {
    const placeOf = (url: string, prefix?: string) => placeIn(redisBackend, at(url, prefix))

    it('is the same for each spelling of an address and each user', () => {
      const place = placeOf('redis://cache.example')
      expect(place).to.equal('cache.example:6379/0 portcullis:')
      for (const url of [
        'redis://CACHE.example:6379/0',
        'redis://cache.example/?family=4',
        'rediss://user:hunter2@cache.example/00',
      ]) {
        expect(placeOf(url), url).to.equal(place)
      }
      expect(placeOf('redis://cache.example', 'portcullis:')).to.equal(place)
    })

    it('is the same for all names of this machine', () => {
      const place = placeOf('redis://localhost:6390')
      for (const host of ['127.0.0.1', '[::1]', '127.0.1.1']) expect(placeOf(`redis://${host}:6390`)).to.equal(place)
      expect(placeOf('redis://127.0.0.1:6391')).not.to.equal(place)
      expect(placeOf('redis://127.0.0.1.example:6390')).not.to.equal(place)
    })

    it('differs on another server or port, in another database, and with another prefix', () => {
      const places = [
        placeOf('redis://cache.example'),
        placeOf('redis://other.example'),
        placeOf('redis://cache.example:6380'),
        placeOf('redis://cache.example/1'),
        placeOf('redis://cache.example', 'other:'),
        placeOf('redis://cache.example', ''),
      ]
      expect(new Set(places)).to.have.lengthOf(places.length)
    })

    it('is nowhere for an address that is refused', () => {
      for (const url of ['no address', 'redis://cache.example/main']) expect(placeOf(url)).to.equal(null)
      expect(placeIn(redisBackend, at(null))).to.equal(null)
    })

    it('is a prefix of the tenant when the address is inherited', () => {
      const address = at('redis://cache.example/2')
      expect(inherited(redisBackend, address)).to.deep.equal({ ...address, prefix: 'portcullis:acme:' })
      expect(inherited(redisBackend, { ...address, prefix: 'ours:' }).prefix).to.equal('ours:acme:')
    })

    it('is reached by one connection when server, database and user are the same', () => {
      const key = connectionKey('redis://user:pass@cache.example/1')
      expect(connectionKey('redis://user:pass@CACHE.example:6379/01')).to.equal(key)
      for (const url of [
        'redis://user:pass@cache.example/2',
        'redis://other:pass@cache.example/1',
        'redis://user:word@cache.example/1',
        'rediss://user:pass@cache.example/1',
      ]) {
        expect(connectionKey(url), url).not.to.equal(key)
      }
    })
  })

  describe('in MongoDB', () => {
    const placeOf = (url: string) => placeIn(mongoBackend, at(url))
    const inheritedUrl = (url: string) => inherited(mongoBackend, at(url)).url
    function keyOf(url: string): string {
      const parts = partsOf(url)
      if (parts === null) throw new Error(`${url} names no database`)
      return clientKey(parts)
    }

    it('is the same for each spelling of an address and each user', () => {
      const place = placeOf('mongodb://a.example,b.example:27018/accounts')
      expect(place).to.equal('a.example:27017,b.example:27018/accounts')
      for (const url of [
        'mongodb://b.example:27018,A.example:27017/accounts?replicaSet=rs',
        'mongodb://user:hunter2@a.example,b.example:27018/accounts?authSource=admin',
        'mongodb://a.example,b.example:27018/Accounts', // which MongoDB refuses beside the other
        'mongodb://a.example,b.example:27018/acc%6Funts',
      ]) {
        expect(placeOf(url), url).to.equal(place)
      }
    })

    it('differs on another server or port, and in another database', () => {
      const places = [
        placeOf('mongodb://a.example/accounts'),
        placeOf('mongodb://b.example/accounts'),
        placeOf('mongodb://a.example:27018/accounts'),
        placeOf('mongodb://a.example/others'),
        placeOf('mongodb://[::1]/accounts'),
        placeOf('mongodb+srv://a.example/accounts'),
      ]
      expect(new Set(places)).to.have.lengthOf(places.length)
    })

    it('is nowhere for an address that is refused', () => {
      for (const url of ['mongodb://a.example', 'mongodb://a.example/?w=1', 'mongodb://a.example/%zz']) {
        expect(placeOf(url), url).to.equal(null)
      }
      expect(placeIn(mongoBackend, at(null))).to.equal(null)
    })

    it('is a database of the tenant when the address is inherited', () => {
      expect(inheritedUrl('mongodb://a.example/accounts')).to.equal('mongodb://a.example/accounts_acme')
      expect(inheritedUrl('mongodb://a.example/accounts?w=1')).to.equal('mongodb://a.example/accounts_acme?w=1')
    })

    it('keeps the database against which the user of an inherited address authenticates', () => {
      for (const [url, expected] of [
        ['mongodb://u:p@a.example/name', 'mongodb://u:p@a.example/name_acme?authSource=name'],
        ['mongodb://u:p@a.example/name?w=1', 'mongodb://u:p@a.example/name_acme?w=1&authSource=name'],
        ['mongodb://u:p@a.example/name?authSource=admin', 'mongodb://u:p@a.example/name_acme?authSource=admin'],
        ['mongodb+srv://u:p@a.example/name', 'mongodb+srv://u:p@a.example/name_acme'],
        [
          'mongodb://u@a.example/name?authMechanism=MONGODB-X509',
          'mongodb://u@a.example/name_acme?authMechanism=MONGODB-X509',
        ],
      ] as const) {
        expect(inheritedUrl(url)).to.equal(expected)
      }
    })

    it('is reached by one client when only the database differs', () => {
      for (const [one, other] of [
        ['mongodb://a.example,b.example/one?w=1', 'mongodb://b.example,A.example:27017/other?w=1'],
        ['mongodb://u:p@a.example/one?authSource=admin', 'mongodb://u:p@a.example/other?authSource=admin'],
        ['mongodb+srv://u:p@a.example/one', 'mongodb+srv://u:p@a.example/other'],
        // Two tenants that inherit it.
        ['mongodb://u:p@a.example/name_one?authSource=name', 'mongodb://u:p@a.example/name_other?authSource=name'],
      ] as const) {
        expect(keyOf(one)).to.equal(keyOf(other))
      }
    })

    it('is reached by its own client when user, options, or the place of the user differ', () => {
      for (const [one, other] of [
        ['mongodb://u:p@a.example/one', 'mongodb://u:p@a.example/other'],
        ['mongodb://u:p@a.example/one?authSource=admin', 'mongodb://v:p@a.example/other?authSource=admin'],
        ['mongodb://a.example/one', 'mongodb://a.example/other?maxPoolSize=5'],
      ] as const) {
        expect(keyOf(one)).not.to.equal(keyOf(other))
      }
    })
  })

  describe('in SQLite', () => {
    let folder: string
    const placeOf = (dataFolder: string) => placeIn(sqliteBackend, { url: null, dataFolder })

    beforeEach(async () => {
      folder = await realpath(await mkdtemp(join(tmpdir(), 'portcullis-places-')))
    })

    afterEach(() => rm(folder, { recursive: true }))

    it('is the file behind every symbolic link, even before it exists', async () => {
      await mkdir(join(folder, 'data'))
      await symlink(join(folder, 'data'), join(folder, 'link'))
      const place = join(folder, 'data', 'portcullis.sqlite')
      for (const path of ['data', 'link', 'other/../data/']) expect(placeOf(join(folder, path))).to.equal(place)
      expect(placeOf(join(folder, 'link', 'tenants', 'acme'))).to.equal(
        join(folder, 'data', 'tenants', 'acme', 'portcullis.sqlite'),
      )
    })

    it('is the file behind a link to a missing folder, and a link to itself is its own place', async () => {
      await symlink('later', join(folder, 'link'))
      await symlink(join(folder, 'link', 'deep'), join(folder, 'far'))
      expect(placeOf(join(folder, 'link'))).to.equal(placeOf(join(folder, 'later')))
      expect(placeOf(join(folder, 'far'))).to.equal(placeOf(join(folder, 'later', 'deep')))
      await symlink('round', join(folder, 'round'))
      expect(placeOf(join(folder, 'round'))).to.equal(join(folder, 'round', 'portcullis.sqlite'))
    })

    it('differs in another folder', () => {
      expect(placeOf(join(folder, 'one'))).not.to.equal(placeOf(join(folder, 'other')))
    })
  })
})
