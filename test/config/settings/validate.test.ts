import { expect } from 'chai'
import { goodSecret, settingsFolder } from '../../support/services/settings.ts'

const mongo = { users: { kind: 'mongo', url: 'mongodb://127.0.0.1/accounts' } }
/** Otherwise every public URL causes a warning. */
/** Settings without which a public service gets a warning. */
const chosen = { security: { profile: 'compatible' }, pages: { enabled: false } }

describe('judging the settings', () => {
  const folder = settingsFolder()

  describe('faults', () => {
    /** By the path of the setting: values that it refuses. */
    const wrongValues: Readonly<Record<string, readonly unknown[]>> = {
      htpp: [{}],
      'http.prot': [1],
      'http.constructor': [1],
      'http.port': ['3000', 65_536, 1.5, null],
      'http.host': ['localhost:3000', '[::1]'],
      'http.publicUrl': ['https://a.example/', 'https://a.example?x', 'https://u:p@a.example', 'ftp://a.example'],
      'http.allowedOrigins': ['https://a.example'],
      'http.allowedHeaders': [['*'], [''], ['X Header'], ['X-Header:'], ['X-Ü'], ['X-A,X-B'], ['X\r\nX']],
      'http.trustedProxies': ['10.0.0.1', ['proxy.example'], ['10.0.0.0/33'], ['10.0.0.1:80'], [7]],
      dataFolder: [''],
      secret: ['x'.repeat(31), 'changemechangemechangemechangeme'],
      'stores.users.kind': ['mysql'],
      'stores.users.url': ['mongodb://h/x'],
      'backends.jwt.transport.kind': ['pigeon'],
      'backends.jwt.transport.path': ['/'],
      'backends.cookie.transport.secure': [false],
      'backends.cookie.transport.path': ['/x'],
      'backends.cookie.transport.domain': ['a.example'],
      'backends.cookie.transport.sameSite': ['Lax'],
      'backends.cookie.transport.name': ['a;b'],
      'backends.cookie.prefix': ['/auth/JWT'],
      'backends.jwt.strategy.lifetimeSeconds': [0],
      'routers.users.prefix': ['auth', '/auth/', '/', '', '/a//b', '/a/:id', '/a/../b', '/a b', '/a?b', '/(.*)'],
      'routers.oauth': [{}],
      'handlers.module': ['gone.mjs', '.'],
      'handlers.timeoutSeconds': [0],
      'passwords.minLength': [7],
      'passwords.memoryKiB': [12_288, 131_073],
      'passwords.timeCost': [1, 41, 100],
      'tokens.resetLifetimeSeconds': [86_401],
      'security.freshLoginSeconds': [-1],
      'security.passkeyDomain': ['other.example', 'Localhost'],
      'logs.level': ['loud'],
      'metrics.port': [3000], // the default of http.port
      'docs.enabled': ['false'],
    }

    for (const [path, values] of Object.entries(wrongValues)) {
      for (const value of values) {
        it(`refuses ${JSON.stringify(value)} as ${path}, and nothing else`, async () => {
          const file = path.split('.').reduceRight<unknown>((inner, key) => ({ [key]: inner }), value)
          const faults = await folder.faults(file)
          expect(faults.map((fault) => fault.path)).to.deep.equal([path])
        })
      }
    }

    const backend = { transport: { kind: 'bearer' }, strategy: { kind: 'jwt' } }
    const cookie = (transport: object) => ({ backends: { cookie: { transport } } })
    const mongoAt = (url: string) => ({ secret: goodSecret, stores: { users: { kind: 'mongo', url } } })
    const redisAt = (url?: string) => ({ stores: { sessions: { kind: 'redis', url } } })

    const combinations: [title: string, file: unknown, ...paths: string[]][] = [
      ['a file that holds a list', [], ''],
      ['groups that are no objects', { http: 3000, stores: [] }, 'http', 'stores'],
      ['no public URL beyond loopback', { http: { host: '0.0.0.0' } }, 'http.publicUrl'],
      ['a wrong public URL beyond loopback', { http: { host: '::', publicUrl: 'x' } }, 'http.publicUrl'],
      ...['/', '/a/', '//a', '/a//b', '/../a', '/a/./b', '/a?b', '/a#b', '/a b', '/ä', '/%61'].map(
        (end): [string, unknown, string] => [
          `the public URL https://example.com${end}`,
          { http: { publicUrl: `https://example.com${end}` } },
          'http.publicUrl',
        ],
      ),
      ...['/auth', '/USERS', '/account', '/docs', '/try', '/.well-known'].map((path): [string, unknown, string] => [
        `the public URL https://example.com${path}, whose path begins a route`,
        { http: { publicUrl: `https://example.com${path}` } },
        'http.publicUrl',
      ]),
      ['no secret beside MongoDB', { stores: mongo }, 'secret'],
      ['users in Redis', { stores: { users: { kind: 'redis', url: 'redis://h' } } }, 'stores.users.kind'],
      ['Redis without an address', redisAt(), 'stores.sessions.url'],
      [
        'a cache for MongoDB',
        { secret: goodSecret, stores: { users: { ...mongo.users, cacheMegabytes: 64 } } },
        'stores.users.cacheMegabytes',
      ],
      ['an address for memory', { stores: { tokens: { kind: 'memory', url: 'redis://h' } } }, 'stores.tokens.url'],
      ...[
        'somewhere',
        'http://h/name',
        `mongodb://h/${'n'.repeat(64)}`,
        'mongodb://h',
        'mongodb://h:1,i:2/?w=1',
        'mongodb://u:p@ss@h/name',
        'mongodb://u:p%ss@h/name',
        'mongodb://h:1,i:65536/name',
      ].map((url): [string, unknown, string] => [`MongoDB at ${url}`, mongoAt(url), 'stores.users.url']),
      ...[
        'redis://:p%ss@h',
        'redis://h:65536',
        'redis://[::1',
        'redis://h/zzz',
        'redis://h/1?db=2',
        'mongodb://h/x',
      ].map((url): [string, unknown, string] => [`Redis at ${url}`, redisAt(url), 'stores.sessions.url']),
      ...['Jwt', 'my-app', 'associate', 'register', 'verify', 'forgot', 'reset'].map(
        (name): [string, unknown, string] => [
          `a backend called ${name}`,
          { backends: { [name]: backend } },
          `backends.${name}`,
        ],
      ),
      [
        'a new backend without its kinds',
        { backends: { app: {} } },
        'backends.app.transport.kind',
        'backends.app.strategy.kind',
      ],
      ...['__host-x', '__Secure-x'].map((name): [string, unknown, string] => [
        `an insecure cookie ${name}`,
        cookie({ name, secure: false }),
        'backends.cookie.transport.secure',
      ]),
      [
        'sameSite none without Secure',
        cookie({ name: 'x', sameSite: 'none', secure: false }),
        'backends.cookie.transport.secure',
      ],
      ['a cookie path with a semicolon', cookie({ name: 'a', path: '/;x' }), 'backends.cookie.transport.path'],
      [
        'one cookie for two backends',
        { backends: { web: { transport: { kind: 'cookie' }, strategy: { kind: 'stored' } } } },
        'backends.web.transport.name',
      ],
      ['more lanes for a hash than hashes', { passwords: { concurrency: 1, parallelism: 2 } }, 'passwords.concurrency'],
      [
        'a verification within sessions that no unverified user can have',
        {
          verification: { requiresSession: true },
          backends: { jwt: { requiresVerification: true }, cookie: { requiresVerification: true } },
        },
        'verification.requiresSession',
      ],
      [
        'a public console without second factors',
        {
          secret: 'a secret of at least thirty-two characters',
          http: { publicUrl: 'https://accounts.example.com' },
          security: { profile: 'compatible' },
          pages: { enabled: true },
          admin: { enabled: true },
        },
        'admin.enabled',
      ],
    ]

    for (const [title, file, ...paths] of combinations) {
      it(`refuses ${title}, and nothing else`, async () => {
        const faults = await folder.faults(file)
        expect(faults.map(({ path }) => path)).to.deep.equal(paths)
      })
    }

    it('are reported all at once, each with its source', async () => {
      const file = { http: { port: -1 }, sekret: 'x', stores: { users: { kind: 'mongo' } } }
      const faults = await folder.faults(file, { PORTCULLIS_LOGS__LEVEL: 'loud', PORTCULLIS_LOGS__LEVLE: 'info' })
      expect(faults).to.have.deep.members([
        { path: 'sekret', message: 'no such setting; did you mean secret?', source: folder.source() },
        { path: 'http.port', message: 'must be a whole number from 0 to 65535', source: folder.source() },
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
          message: 'is required for mongo: mongodb://… or mongodb+srv://…; set PORTCULLIS_STORES__USERS__URL',
          source: 'default',
        },
        {
          path: 'secret',
          message:
            'is required when a server stores the users; all replicas need the same. `openssl rand -base64 32` makes one; set PORTCULLIS_SECRET',
          source: 'default',
        },
      ])
    })

    it('says which characters of a password of a store must be encoded, and accepts them encoded', async () => {
      const message = 'must have each /, ?, # and @ of user and password percent-encoded: %2F, %3F, %23, %40'
      const faultsOf = (kind: string, url: string) =>
        folder.faults({ secret: goodSecret, stores: { users: { kind, url } } })
      for (const character of ['/', '?', '#']) {
        for (const kind of ['postgres', 'mongo'] as const) {
          const protocol = kind === 'mongo' ? 'mongodb' : kind
          const [fault] = await faultsOf(kind, `${protocol}://us:pa${character}ss@db.internal:5432/name`)
          expect([fault?.path, fault?.message], kind).to.deep.equal(['stores.users.url', message])
          const encoded = `${protocol}://us:pa${encodeURIComponent(character)}ss@db.internal:5432/name`
          expect(await faultsOf(kind, encoded)).to.deep.equal([])
        }
      }
      for (const url of ['postgres://us:12/34@host/name', 'postgres://us:p@/ss@host/name']) {
        expect((await faultsOf('postgres', url))[0]?.message).to.match(
          /^must name a database: .*\. A user or password must have each/,
        )
      }
    })

    it('name every missing setting, and a shared address only once', async () => {
      const pathsOf = async (stores: object) => (await folder.faults({ stores })).map(({ path }) => path)
      const [mongo, redis] = [{ kind: 'mongo' }, { kind: 'redis' }]
      const missing = ['stores.users.url', 'stores.sessions.url', 'stores.tokens.url', 'secret']
      expect(await pathsOf({ users: mongo, sessions: redis, tokens: redis })).to.have.members(missing)
      expect(await pathsOf({ users: mongo, sessions: mongo })).to.have.members(['stores.users.url', 'secret'])
    })

    it('show how to write the dotted name of a setting in a file', async () => {
      const faults = await folder.faults({ 'http.port': 8080, stores: { 'users.kind': 'memory' } })
      expect(faults.map(({ path, message }) => `${path}: ${message}`)).to.deep.equal([
        'http.port: no such setting; write {"http": {"port": …}}',
        'stores.users.kind: no such setting; write {"users": {"kind": …}}',
      ])
    })

    it('suggest the full name of a setting', async () => {
      for (const [given, meant] of [
        [{ http: { hots: '::1' } }, 'http.host'],
        [{ http: { prot: 1 } }, 'http.port'],
        [{ tokens: { resetLifetime: 1 } }, null],
        [{ passwords: { minLenght: 8 } }, 'passwords.minLength'],
      ] as const) {
        const [fault] = await folder.faults(given)
        expect(fault?.message).to.equal(`no such setting${meant === null ? '' : `; did you mean ${meant}?`}`)
      }
    })

    it('name a domain of passkeys under which anybody may register', async () => {
      const http = { publicUrl: 'https://accounts.example.co.uk' }
      const of = (passkeyDomain: string) => folder.faults({ http, security: { passkeyDomain } })
      expect((await of('co.uk')).map(({ message }) => message)).to.deep.equal(['cannot be the public suffix co.uk'])
      expect((await of('uk')).map(({ path }) => path)).to.deep.equal(['security.passkeyDomain'])
      for (const domain of ['example.co.uk', 'accounts.example.co.uk']) {
        expect(
          (await of(domain)).map(({ path }) => path),
          domain,
        ).to.not.include('security.passkeyDomain')
      }
    })

    it('name the setting whose routes conflict', async () => {
      const [fault] = await folder.faults({ backends: { cookie: { prefix: '/auth/jwt' } } })
      expect(fault?.message).to.equal('puts POST /auth/jwt/login on a path that backends.jwt.prefix already uses')
      const apps = { acme: { redirectUris: ['https://acme.example/back'], backend: 'jwt' } }
      const providers = { google: { kind: 'google', clientId: 'id', clientSecret: 'secret', prefix: '/account' } }
      const ofPages = await folder.faults({ apps, providers, pages: { enabled: true } })
      expect(ofPages.map(({ message }) => message)).to.include(
        'puts GET /account/authorize on a path that apps already uses',
      )
      const [ofDocs] = await folder.faults({ users: { search: true }, routers: { users: { prefix: '/docs' } } })
      expect(ofDocs).to.include({
        path: 'routers.users.prefix',
        message: 'puts GET /docs on a path that docs.enabled already uses',
      })
    })
  })

  describe('good settings', () => {
    const good: [title: string, file: unknown][] = [
      ['an origin on a port', { http: { allowedOrigins: ['http://localhost:5173', 'https://a.example'] } }],
      [
        'origins of apps',
        {
          http: {
            allowedOrigins: [
              'capacitor://localhost',
              'tauri://localhost',
              'app://-',
              `android:apk-key-hash:${'k'.repeat(43)}`,
            ],
          },
        },
      ],
      ['every character of a token (RFC 9110)', { http: { allowedHeaders: ["x!#$%&'*+-.^_`|~9"] } }],
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
      it(`accept ${title}`, async () => {
        expect(await folder.faults(file)).to.deep.equal([])
      })
    }

    it('warn of cookies that others can read, on every address but loopback', async () => {
      const backends = { cookie: { transport: { name: 'session', secure: false, httpOnly: false } } }
      const http = { publicUrl: 'https://accounts.example.com', trustedProxies: [] }
      const { warnings } = await folder.load({ http, backends, ...chosen })
      expect(warnings).to.deep.equal([
        'the cookie of the backend cookie is not Secure: browsers send it without encryption, too',
        'the cookie of the backend cookie is not HttpOnly: every script in the page can read it',
      ])
      expect((await folder.load({ http: { publicUrl: 'http://localhost:3000' }, backends })).warnings).to.deep.equal([])
    })

    it('warn that proxies have to be named, on every address but loopback', async () => {
      const publicUrl = 'https://accounts.example.com'
      const [warning, ...others] = (await folder.load({ http: { publicUrl }, ...chosen })).warnings
      expect(warning).to.match(/^http\.trustedProxies is not set: name the proxies .* have no limits by client$/)
      expect(others).to.deep.equal([])
      for (const quiet of [
        { http: { publicUrl, trustedProxies: [] } },
        { http: { publicUrl, trustedProxies: ['10.0.0.7', '2001:db8::/32'] } },
        { http: { publicUrl: 'http://localhost:3000' } },
        { http: { publicUrl }, limits: { enabled: false } },
        {},
      ]) {
        expect((await folder.load({ ...quiet, ...chosen })).warnings, JSON.stringify(quiet)).to.deep.equal([])
      }
    })

    it('warn of pages that are off by default where other machines reach the service', async () => {
      const publicUrl = 'https://accounts.example.com'
      const { security } = chosen
      const http = { publicUrl, trustedProxies: [] }
      for (const far of [{ http }, { http: { host: '0.0.0.0', publicUrl: 'http://localhost:3000' } }]) {
        expect((await folder.load({ ...far, security })).warnings).to.deep.equal([
          'the account pages are off: set mail.url, or pages.enabled (false if you want none)',
        ])
      }
      for (const quiet of [
        { http, pages: { enabled: true } },
        { http, pages: { enabled: false } },
        { http, mail: { url: 'smtp://localhost', from: 'accounts@example.com' } },
        { http, backends: { cookie: { enabled: false } } },
        {},
      ]) {
        expect((await folder.load({ ...quiet, security })).warnings, JSON.stringify(quiet)).to.deep.equal([])
      }
    })

    it('warn if no backend is enabled', async () => {
      const off = { enabled: false }
      expect((await folder.load({ backends: { jwt: off, cookie: off } })).warnings).to.deep.equal([
        'backends: none is enabled, so nobody can log in',
      ])
      expect((await folder.load({ backends: { jwt: off } })).warnings).to.deep.equal([])
    })

    it('warn of stores on other machines that are reached without TLS', async () => {
      const warningsOf = async (users: string, tokens: string) => {
        const stores = { users: { kind: 'mongo', url: users }, tokens: { kind: 'redis', url: tokens } }
        return (await folder.load({ secret: goodSecret, stores })).warnings
      }
      const words = (...roles: string[]) => [
        `${roles.join(', ')}: without TLS, so everybody on the network can read the traffic of these stores`,
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

    it('warn of a Secure cookie that browsers will drop', async () => {
      const { warnings } = await folder.load({
        http: { publicUrl: 'http://accounts.example.com', trustedProxies: ['10.0.0.0/8'] },
        ...chosen,
      })
      expect(warnings).to.deep.equal([
        'browsers will drop the cookie of the backend cookie: it is Secure and http.publicUrl is not https',
      ])
    })

    it('warn of front ends of another site, to which browsers do not send the cookie', async () => {
      const warned = async (publicUrl: string | undefined, allowedOrigins: string[], transport: object = {}) => {
        const http = { ...(publicUrl !== undefined && { publicUrl }), allowedOrigins, trustedProxies: [] }
        const backends = { cookie: { transport } }
        return (await folder.load({ http, backends, ...chosen, handlers: { console: false } })).warnings
      }
      const words = (origins: string, publicUrl: string) => [
        `browsers do not send the cookie of the backend cookie with requests from pages of ${origins} (http.allowedOrigins), which is another site than ${publicUrl}: use one host name or domain for both, or a backend with bearer tokens`,
      ]
      const accounts = 'https://accounts.example.co.uk'
      for (const [publicUrl, origin] of [
        [undefined, 'http://127.0.0.1:5173'],
        ['http://127.0.0.1:3000', 'http://localhost:5173'],
        [accounts, 'https://app.other.co.uk'],
        [accounts, 'http://app.example.co.uk'],
        ['https://accounts.fly.dev', 'https://app.fly.dev'],
        ['https://accounts.internal', 'https://10.0.0.1'],
      ] as const) {
        const site = publicUrl ?? 'http://localhost'
        expect(await warned(publicUrl, [origin]), origin).to.deep.equal(words(origin, site))
        expect(await warned(publicUrl, [origin], { sameSite: 'none' })).to.deep.equal([])
      }
      for (const [publicUrl, origin] of [
        [undefined, 'http://localhost:5173'],
        [accounts, 'https://app.example.co.uk:8443'],
        [accounts, 'https://example.co.uk'],
        [accounts, 'capacitor://localhost'],
        ['https://accounts.corp.internal', 'https://app.corp.internal'],
      ] as const) {
        expect(await warned(publicUrl, [origin]), origin).to.deep.equal([])
      }
      const origins = ['https://app.example.co.uk', 'https://a.example', 'https://b.example']
      expect(await warned(accounts, origins)).to.deep.equal(words('https://a.example, https://b.example', accounts))
    })

    it('warn of handlers.console if other machines can reach the service', async () => {
      const handlers = { console: true }
      const open = { host: '0.0.0.0', publicUrl: 'http://localhost:3000' }
      const far = { publicUrl: 'https://accounts.example.com', trustedProxies: [] }
      for (const http of [far, open]) {
        expect((await folder.load({ http, handlers, ...chosen })).warnings).to.deep.equal([
          'handlers.console prints tokens: any reader of standard output can verify addresses and reset passwords',
        ])
      }
      for (const quiet of [{ http: far }, { http: { publicUrl: 'http://localhost:8080' }, handlers }, {}]) {
        expect((await folder.load({ ...quiet, ...chosen })).warnings).to.deep.equal([])
      }
    })
  })
})
