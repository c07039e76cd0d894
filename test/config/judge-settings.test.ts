import { expect } from 'chai'
import { SettingsFault } from '../../src/config/settings/schema/fault.ts'
import { goodSecret, SettingsFolder } from '../support/settings.ts'

const mongo = { users: { kind: 'mongo', url: 'mongodb://127.0.0.1/accounts' } }

describe('judging the settings', () => {
  const folder = new SettingsFolder()
  beforeEach(() => folder.open())
  afterEach(() => folder.remove())

  describe('what is wrong with them', () => {
    const cookie = (transport: object) => ({ backends: { cookie: { transport } } })
    const backend = { transport: { kind: 'bearer' }, strategy: { kind: 'jwt' } }

    const bad: [title: string, file: unknown, paths: string[]][] = [
      ['a file that holds a list', [], ['']],
      ['a group that is no object', { http: 3000, stores: [] }, ['http', 'stores']],
      ['an unknown group', { htpp: {} }, ['htpp']],
      ['an unknown setting', { http: { prot: 1 } }, ['http.prot']],
      ['the name of an inherited member', { http: { constructor: 1 }, toString: 1 }, ['toString', 'http.constructor']],
      ['a number as text', { http: { port: '3000' } }, ['http.port']],
      ['a port out of range', { http: { port: 65_536 } }, ['http.port']],
      ['a port that is no whole number', { http: { port: 1.5 } }, ['http.port']],
      ['null', { http: { port: null, publicUrl: null } }, ['http.port', 'http.publicUrl']],
      ['a host with a port', { http: { host: 'localhost:3000' } }, ['http.host']],
      ['a host in brackets', { http: { host: '[::1]' } }, ['http.host']],
      ['no public URL beyond loopback', { http: { host: '0.0.0.0' } }, ['http.publicUrl']],
      ['a public URL with a path', { http: { publicUrl: 'https://a.example/x' } }, ['http.publicUrl']],
      ['a public URL with a final slash', { http: { publicUrl: 'https://a.example/' } }, ['http.publicUrl']],
      ['a public URL with a query', { http: { publicUrl: 'https://a.example?x' } }, ['http.publicUrl']],
      ['a public URL with credentials', { http: { publicUrl: 'https://u:p@a.example' } }, ['http.publicUrl']],
      ['a public URL that is no web address', { http: { publicUrl: 'ftp://a.example' } }, ['http.publicUrl']],
      ['a wrong public URL beyond loopback', { http: { host: '::', publicUrl: 'x' } }, ['http.publicUrl']],
      ['any origin', { http: { allowedOrigins: ['*'] } }, ['http.allowedOrigins']],
      ['the origin null', { http: { allowedOrigins: ['null'] } }, ['http.allowedOrigins']],
      ['an origin with a slash', { http: { allowedOrigins: ['https://a.example/'] } }, ['http.allowedOrigins']],
      [
        'an origin with its default port',
        { http: { allowedOrigins: ['https://a.example:443'] } },
        ['http.allowedOrigins'],
      ],
      ['an origin in upper case', { http: { allowedOrigins: ['https://A.example'] } }, ['http.allowedOrigins']],
      ['a wildcard in an origin', { http: { allowedOrigins: ['https://*.a.example'] } }, ['http.allowedOrigins']],
      ['origins that are no list', { http: { allowedOrigins: 'https://a.example' } }, ['http.allowedOrigins']],
      ['an empty data folder', { dataFolder: '' }, ['dataFolder']],
      ['a short secret', { secret: 'x'.repeat(31) }, ['secret']],
      ['a sample secret', { secret: 'changemechangemechangemechangeme' }, ['secret']],
      ['no secret beside MongoDB', { stores: mongo }, ['secret']],
      ['an unknown store', { stores: { users: { kind: 'mysql' } } }, ['stores.users.kind']],
      ['users in Redis', { stores: { users: { kind: 'redis', url: 'redis://h' } } }, ['stores.users.kind']],
      [
        'MongoDB without an address',
        { secret: goodSecret, stores: { users: { kind: 'mongo' } } },
        ['stores.users.url'],
      ],
      ['a MongoDB database with too long a name', mongoAt(`mongodb://h/${'n'.repeat(64)}`), ['stores.users.url']],
      ['MongoDB without a database', mongoAt('mongodb://h'), ['stores.users.url']],
      ['MongoDB without a database, with a slash', mongoAt('mongodb://h:1,i:2/?w=1'), ['stores.users.url']],
      ['MongoDB by another protocol', mongoAt('http://h/name'), ['stores.users.url']],
      ['MongoDB with a bare @ in its password', mongoAt('mongodb://u:p@ss@h/name'), ['stores.users.url']],
      ['MongoDB with a bare % in its password', mongoAt('mongodb://u:p%ss@h/name'), ['stores.users.url']],
      ['MongoDB at a port that is none', mongoAt('mongodb://h:1,i:65536/name'), ['stores.users.url']],
      ['Redis with a bare % in its password', redisAt('redis://:p%ss@h'), ['stores.sessions.url']],
      ['Redis at a port that is none', redisAt('redis://h:65536'), ['stores.sessions.url']],
      ['Redis at half an address', redisAt('redis://[::1'), ['stores.sessions.url']],
      ['Redis with a database that is no number', redisAt('redis://h/zzz'), ['stores.sessions.url']],
      ['Redis with a word that the driver would obey', redisAt('redis://h/1?db=2'), ['stores.sessions.url']],
      ['an address that is none', mongoAt('somewhere'), ['stores.users.url']],
      ['Redis without an address', { stores: { tokens: { kind: 'redis' } } }, ['stores.tokens.url']],
      [
        'Redis by another protocol',
        { stores: { sessions: { kind: 'redis', url: 'mongodb://h/x' } } },
        ['stores.sessions.url'],
      ],
      ['an address for SQLite', { stores: { users: { url: 'mongodb://h/x' } } }, ['stores.users.url']],
      ['an address for memory', { stores: { tokens: { kind: 'memory', url: 'redis://h' } } }, ['stores.tokens.url']],
      [
        'an unknown transport',
        { backends: { jwt: { transport: { kind: 'pigeon' } } } },
        ['backends.jwt.transport.kind'],
      ],
      [
        'a new backend without its kinds',
        { backends: { app: {} } },
        ['backends.app.transport.kind', 'backends.app.strategy.kind'],
      ],
      [
        'an option of another transport',
        { backends: { jwt: { transport: { path: '/' } } } },
        ['backends.jwt.transport.path'],
      ],
      ['a backend in upper case', { backends: { Jwt: backend } }, ['backends.Jwt']],
      ['a backend with a dash', { backends: { 'my-app': backend } }, ['backends.my-app']],
      ...['associate', 'register', 'verify', 'forgot', 'reset'].map((name): [string, unknown, string[]] => [
        `a backend called ${name}`,
        { backends: { [name]: backend } },
        [`backends.${name}`],
      ]),
      ['a __Host- cookie that is not Secure', cookie({ secure: false }), ['backends.cookie.transport.secure']],
      ['a __Host- cookie below a path', cookie({ path: '/x' }), ['backends.cookie.transport.path']],
      ['a __Host- cookie of a domain', cookie({ domain: 'a.example' }), ['backends.cookie.transport.domain']],
      [
        'a __host- cookie in lower case',
        cookie({ name: '__host-x', secure: false }),
        ['backends.cookie.transport.secure'],
      ],
      [
        'a __Secure- cookie that is not',
        cookie({ name: '__Secure-x', secure: false }),
        ['backends.cookie.transport.secure'],
      ],
      [
        'sameSite none without Secure',
        cookie({ name: 'x', sameSite: 'none', secure: false }),
        ['backends.cookie.transport.secure'],
      ],
      ['an unknown sameSite', cookie({ sameSite: 'Lax' }), ['backends.cookie.transport.sameSite']],
      ['a cookie name with a semicolon', cookie({ name: 'a;b' }), ['backends.cookie.transport.name']],
      ['a cookie path with a semicolon', cookie({ name: 'a', path: '/;x' }), ['backends.cookie.transport.path']],
      [
        'a cookie domain with a leading dot',
        cookie({ name: 'a', domain: '.a.example' }),
        ['backends.cookie.transport.domain'],
      ],
      [
        'one cookie for two backends',
        { backends: { web: { transport: { kind: 'cookie' }, strategy: { kind: 'stored' } } } },
        ['backends.web.transport.name'],
      ],
      [
        'a life of no time',
        { backends: { jwt: { strategy: { lifetimeSeconds: 0 } } } },
        ['backends.jwt.strategy.lifetimeSeconds'],
      ],
      ...['auth', '/auth/', '/', '', '/a//b', '/a/:id', '/a/../b', '/a b', '/a?b', '/(.*)'].map(
        (prefix): [string, unknown, string[]] => [
          `the prefix '${prefix}'`,
          { routers: { users: { prefix } } },
          ['routers.users.prefix'],
        ],
      ),
      ['two backends on one path', { backends: { cookie: { prefix: '/auth/JWT' } } }, ['backends.cookie.prefix']],
      ['an unknown router', { routers: { oauth: {} } }, ['routers.oauth']],
      ['a module that is not there', { handlers: { module: 'gone.mjs' } }, ['handlers.module']],
      ['a module that is a folder', { handlers: { module: '.' } }, ['handlers.module']],
      ['a handler without time', { handlers: { timeoutSeconds: 0 } }, ['handlers.timeoutSeconds']],
      ['passwords of 7 characters', { passwords: { minLength: 7 } }, ['passwords.minLength']],
      ['cheap hashes: memory', { passwords: { memoryKiB: 12_288 } }, ['passwords.memoryKiB']],
      ['cheap hashes: passes', { passwords: { timeCost: 1 } }, ['passwords.timeCost']],
      ['hashes that take too much memory', { passwords: { memoryKiB: 1_048_577 } }, ['passwords.memoryKiB']],
      ['hashes of too many passes', { passwords: { timeCost: 100 } }, ['passwords.timeCost']],
      ['fewer lanes than one hash has', { passwords: { concurrency: 1, parallelism: 2 } }, ['passwords.concurrency']],
      [
        'a reset token that lives for days',
        { tokens: { resetLifetimeSeconds: 86_401 } },
        ['tokens.resetLifetimeSeconds'],
      ],
      ['a negative fresh login', { security: { freshLoginSeconds: -1 } }, ['security.freshLoginSeconds']],
      [
        'a verification within sessions that no unverified user can have',
        {
          verification: { requiresSession: true },
          backends: { jwt: { requiresVerification: true }, cookie: { requiresVerification: true } },
        },
        ['verification.requiresSession'],
      ],
      ['an unknown level', { logs: { level: 'loud' } }, ['logs.level']],
      ['a switch as text', { docs: { enabled: 'false' } }, ['docs.enabled']],
    ]

    function mongoAt(url: string) {
      return { secret: goodSecret, stores: { users: { kind: 'mongo', url } } }
    }

    function redisAt(url: string) {
      return { stores: { sessions: { kind: 'redis', url } } }
    }

    for (const [title, file, paths] of bad) {
      it(`refuses ${title}, and nothing else`, async () => {
        const faults = await folder.faults(file)
        expect(faults.map(({ path }) => path)).to.deep.equal(paths)
      })
    }

    it('tells all faults at once, each with its source', async () => {
      const file = { http: { port: -1 }, sekret: 'x', stores: { users: { kind: 'mongo' } } }
      const faults = await folder.faults(file, { PORTCULLIS_LOGS__LEVEL: 'loud', PORTCULLIS_LOGS__LEVLE: 'info' })
      expect(faults).to.have.deep.members([
        { path: 'sekret', message: 'no such setting; did you mean secret?', source: 'file' },
        { path: 'http.port', message: 'must be a whole number from 0 to 65535', source: 'file' },
        {
          path: 'logs.level',
          message: 'must be one of fatal, error, warn, info, debug, trace, silent',
          source: 'environment PORTCULLIS_LOGS__LEVEL',
        },
        {
          path: 'logs.levle',
          message: 'no such setting; did you mean PORTCULLIS_LOGS__LEVEL?',
          source: 'environment PORTCULLIS_LOGS__LEVLE',
        },
        {
          path: 'stores.users.url',
          message: 'is required for mongo: mongodb://… or mongodb+srv://…',
          source: 'default',
        },
        {
          path: 'secret',
          message: 'is required where users are kept on a server of their own, the same for every replica',
          source: 'default',
        },
      ])
    })

    it('tells everything that is missing in one round, and nothing that a missing thing brings along', async () => {
      const pathsOf = async (stores: object) => (await folder.faults({ stores })).map(({ path }) => path)
      const [mongo, redis] = [{ kind: 'mongo' }, { kind: 'redis' }]
      expect(await pathsOf({ users: mongo, sessions: redis, tokens: redis })).to.have.members([
        'stores.users.url',
        'stores.sessions.url',
        'stores.tokens.url',
        'secret',
      ])
      expect(await pathsOf({ users: mongo, sessions: mongo })).to.have.members(['stores.users.url', 'secret'])
      expect(await pathsOf({ users: { kind: 'postgres' } })).to.deep.equal(['stores.users.kind'])
    })

    it('finds the setting of the file that was meant, be two letters swapped', async () => {
      for (const [given, meant] of [
        [{ http: { hots: '::1' } }, 'host'],
        [{ http: { prot: 1 } }, 'port'],
        [{ tokens: { resetLifetime: 1 } }, null],
        [{ passwords: { minLenght: 8 } }, 'minLength'],
      ] as const) {
        const [fault] = await folder.faults(given)
        expect(fault?.message).to.equal(`no such setting${meant === null ? '' : `; did you mean ${meant}?`}`)
      }
    })

    it('comes with what was noticed besides', async () => {
      const env = { PORTCULLIS_LOGS_LEVEL: 'info', PORTCULLIS_STORES__USERS__KIND: 'memory' }
      const thrown = await folder.load({ http: { port: -1 } }, env).catch((error: unknown) => error)
      const warnings = thrown instanceof SettingsFault ? thrown.warnings : []
      expect(warnings).to.have.length(2)
      expect(warnings.join()).to.include('PORTCULLIS_LOGS_LEVEL').and.to.include('memory')
    })

    it('lets a prefix be taken by the first that claims it, and names it', async () => {
      const [fault] = await folder.faults({ backends: { cookie: { prefix: '/auth/jwt' } } })
      expect(fault?.message).to.equal('puts POST /auth/jwt/login where backends.jwt.prefix has it already')
    })
  })

  describe('what is allowed', () => {
    const good: [title: string, file: unknown][] = [
      ['an origin on a port', { http: { allowedOrigins: ['http://localhost:5173', 'https://a.example'] } }],
      ['an IPv6 address', { http: { host: '::1' } }],
      [
        'several MongoDB hosts',
        { secret: goodSecret, stores: { users: { kind: 'mongo', url: 'mongodb://u:p%40%25@a:1,b:65535/n?w=1' } } },
      ],
      ['Redis over TLS', { stores: { tokens: { kind: 'redis', url: 'rediss://:p@h:1/2' } } }],
      ['a plain cookie without Secure', { backends: { cookie: { transport: { name: 'x', secure: false } } } }],
      ['a cookie of a domain', { backends: { cookie: { transport: { name: '__Secure-x', domain: 'a.example' } } } }],
      ['fewer passes with more memory', { passwords: { memoryKiB: 47_104, timeCost: 1 } }],
      ['less memory with more passes', { passwords: { memoryKiB: 7168, timeCost: 5 } }],
      ['one prefix for routers with different routes', { routers: { users: { prefix: '/auth' } } }],
      ['a nested prefix', { routers: { users: { prefix: '/api/v1.0/users' } } }],
    ]

    for (const [title, file] of good) {
      it(`takes ${title}`, async () => {
        expect(await folder.faults(file)).to.deep.equal([])
      })
    }

    it('warns of cookies that others can read, on every address but loopback', async () => {
      const backends = { cookie: { transport: { name: 'session', secure: false, httpOnly: false } } }
      const http = { publicUrl: 'https://accounts.example.com' }
      const { warnings } = await folder.load({ http, backends })
      expect(warnings).to.deep.equal([
        'the cookie of the backend cookie is not Secure: browsers will send it where others listen',
        'the cookie of the backend cookie is not HttpOnly: every script in the page can read it',
      ])
      expect((await folder.load({ http: { publicUrl: 'http://localhost:3000' }, backends })).warnings).to.deep.equal([])
    })

    it('warns where no backend is enabled', async () => {
      const off = { enabled: false }
      expect((await folder.load({ backends: { jwt: off, cookie: off } })).warnings).to.deep.equal([
        'backends: none is enabled, so that nobody can log in',
      ])
      expect((await folder.load({ backends: { jwt: off } })).warnings).to.deep.equal([])
    })

    it('warns of stores on other machines that are reached without TLS', async () => {
      const warningsOf = async (users: string, tokens: string) => {
        const stores = { users: { kind: 'mongo', url: users }, tokens: { kind: 'redis', url: tokens } }
        return (await folder.load({ secret: goodSecret, stores })).warnings
      }
      const words = (...roles: string[]) => [
        `without TLS, by ${roles.join(', ')}: let nobody else listen on the network to these stores`,
      ]
      const [users, sessions, tokens] = ['stores.users.url', 'stores.sessions.url', 'stores.tokens.url']
      for (const [mongo, redis, warnings] of [
        ['mongodb://10.9.9.9/n', 'redis://10.9.9.9', words(users, sessions, tokens)],
        ['mongodb://u:p@127.0.0.1:1,db.internal/n', 'redis://localhost', words(users, sessions)],
        ['mongodb+srv://db.example/n?tls=false', 'rediss://10.9.9.9', words(users, sessions)],
        ['mongodb://10.9.9.9/n?w=1&tls=true', 'redis://:p@cache.internal:6380/2', words(tokens)],
        ['mongodb://10.9.9.9/n?ssl=true', 'rediss://10.9.9.9', []],
        ['mongodb+srv://db.example/n', 'redis://[::1]', []],
        ['mongodb://%2Ftmp%2Fmongodb-27017.sock/n', 'redis://127.0.0.2', []],
        ['mongodb://[::1]:27017,localhost/n', 'redis://LOCALHOST/1', []],
        ['mongodb://u:p@mongo:27017/n', 'redis://redis_1:6379', []],
        ['mongodb://[fd00::1]:27017/n', 'redis://mongo', words(users, sessions)],
      ] as const) {
        expect(await warningsOf(mongo, redis), `${mongo} ${redis}`).to.deep.equal(warnings)
      }
    })

    it('warns of a Secure cookie where browsers will drop it', async () => {
      const { warnings } = await folder.load({ http: { publicUrl: 'http://accounts.example.com' } })
      expect(warnings).to.deep.equal([
        'browsers will drop the cookie of the backend cookie: it is Secure and http.publicUrl is not https',
      ])
    })

    it('warns that handlers.console prints tokens where others reach the service', async () => {
      const handlers = { console: true }
      const open = { host: '0.0.0.0', publicUrl: 'http://localhost:3000' }
      const publicUrl = 'https://accounts.example.com'
      for (const http of [{ publicUrl }, open]) {
        expect((await folder.load({ http, handlers })).warnings).to.deep.equal([
          'handlers.console prints tokens: any reader of standard output can verify addresses and reset passwords',
        ])
      }
      for (const quiet of [{ http: { publicUrl } }, { http: { publicUrl: 'http://localhost:8080' }, handlers }, {}]) {
        expect((await folder.load(quiet)).warnings).to.deep.equal([])
      }
    })
  })
})
