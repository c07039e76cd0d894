import { expect } from 'chai'
import { clientKey, partsOf } from '../../../src/adapters/stores/mongo/connection/address.ts'
import { mongoBackend } from '../../../src/adapters/stores/mongo/mongo.ts'
import { postgresBackend } from '../../../src/adapters/stores/postgres/postgres.ts'
import { connectionKey } from '../../../src/adapters/stores/redis/address.ts'
import { redisBackend } from '../../../src/adapters/stores/redis/redis.ts'
import { sqliteBackend } from '../../../src/adapters/stores/sqlite/sqlite.ts'

describe('the place of a tenant’s records', () => {
  describe('in redis', () => {
    const placeOf = (url: string, prefix?: string) =>
      redisBackend.placeOf({ url, ...(prefix !== undefined && { prefix }) })

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

    it('differs on another server or port, in another database, and with another prefix', () => {
      const places = [
        placeOf('redis://cache.example'),
        placeOf('redis://other.example'),
        placeOf('redis://127.0.0.1.example'),
        placeOf('redis://cache.example:6380'),
        placeOf('redis://cache.example/1'),
        placeOf('redis://cache.example', 'other:'),
        placeOf('redis://cache.example', ''),
      ]
      expect(new Set(places)).to.have.lengthOf(places.length)
    })

    it('is a prefix of the tenant when the address is inherited', () => {
      const address = { url: 'redis://cache.example/2' }
      expect(redisBackend.inherited(address, 'acme')).to.deep.equal({ ...address, prefix: 'portcullis:acme:' })
      expect(redisBackend.inherited({ ...address, prefix: 'ours:' }, 'acme').prefix).to.equal('ours:acme:')
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
    const placeOf = (url: string) => mongoBackend.placeOf({ url })
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

    it('is a database of the tenant when the address is inherited, with the same database for authentication', () => {
      for (const [url, expected] of [
        ['mongodb://a.example/name', 'mongodb://a.example/name_acme'],
        ['mongodb://a.example/name?w=1', 'mongodb://a.example/name_acme?w=1'],
        ['mongodb://u:p@a.example/name', 'mongodb://u:p@a.example/name_acme?authSource=name'],
        ['mongodb://u:p@a.example/name?w=1', 'mongodb://u:p@a.example/name_acme?w=1&authSource=name'],
        ['mongodb://u:p@a.example/name?authSource=admin', 'mongodb://u:p@a.example/name_acme?authSource=admin'],
        ['mongodb+srv://u:p@a.example/name', 'mongodb+srv://u:p@a.example/name_acme'],
        [
          'mongodb://u@a.example/name?authMechanism=MONGODB-X509',
          'mongodb://u@a.example/name_acme?authMechanism=MONGODB-X509',
        ],
      ] as const) {
        expect(mongoBackend.inherited({ url }, 'acme').url).to.equal(expected)
      }
    })

    for (const [one, other, isShared] of [
      ['mongodb://a.example,b.example/one?w=1', 'mongodb://b.example,A.example:27017/other?w=1', true],
      ['mongodb://u:p@a.example/one?authSource=admin', 'mongodb://u:p@a.example/other?authSource=admin', true],
      ['mongodb+srv://u:p@a.example/one', 'mongodb+srv://u:p@a.example/other', true],
      ['mongodb://u:p@a.example/one', 'mongodb://u:p@a.example/other', false],
      ['mongodb://u:p@a.example/one?authSource=admin', 'mongodb://v:p@a.example/other?authSource=admin', false],
      ['mongodb://a.example/one', 'mongodb://a.example/other?maxPoolSize=5', false],
    ] as const) {
      it(`has ${isShared ? 'one client' : 'two clients'} for ${one} and ${other}`, () => {
        expect(keyOf(one) === keyOf(other)).to.equal(isShared)
      })
    }
  })

  describe('in PostgreSQL', () => {
    it('is the same for each spelling of an address and each user', () => {
      for (const url of [
        'postgres://a.example/accounts',
        'postgresql://user:hunter2@A.example:5432/accounts?sslmode=require',
        'postgres://a.example/acc%6Funts',
      ]) {
        expect(postgresBackend.placeOf({ url }), url).to.equal('a.example:5432/accounts/portcullis')
      }
    })

    it('is a schema of the tenant when the address is inherited', () => {
      const own = { url: 'postgres://a.example/accounts' }
      expect(postgresBackend.inherited(own, 'acme')).to.deep.equal({ ...own, schema: 'portcullis_acme' })
    })
  })

  describe('in SQLite', () => {
    const placeOf = (dataFolder: string) => sqliteBackend.placeOf({ dataFolder })

    it('is the same for each spelling of a folder', () => {
      for (const path of ['/data', '/data/', '/other/../data']) {
        expect(placeOf(path)).to.equal('/data/portcullis.sqlite')
      }
    })

    it('differs in another folder', () => {
      expect(placeOf('/one')).not.to.equal(placeOf('/other'))
    })
  })
})
