import { join } from 'node:path'
import { expect } from 'chai'
import { createLocalJWKSet, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from 'jose'
import { eventually } from './support/eventually.ts'
import { call, logIn, register } from './support/http/client.ts'
import { portcullis } from './support/process/command-line.ts'
import { type SpawnedService, scratchFolder, spawnService } from './support/services/spawned-service.ts'

const cacheSeconds = 2
const isLong = process.env.TEST_LONG === '1'
const rotations = 3
const tokensWanted = isLong ? 10_000 : 100

/** Another service. It keeps the keys for their whole cache time, and never asks for an unknown one. */
function cachingVerifier(urls: readonly string[]) {
  let kept: { readonly verify: ReturnType<typeof createLocalJWKSet>; readonly until: number } | null = null
  let asked = 0
  return async (token: string): Promise<void> => {
    if (kept === null || performance.now() >= kept.until) {
      const at = performance.now()
      const answer = await fetch(`${urls[asked++ % urls.length]}/.well-known/jwks.json`)
      const seconds = Number(/max-age=(\d+)/.exec(answer.headers.get('Cache-Control') ?? '')?.[1])
      const set: JSONWebKeySet = (await answer.json()) as never // safe: jose checks it
      kept = { verify: createLocalJWKSet(set), until: at + seconds * 1000 }
    }
    await jwtVerify(token, kept.verify, { typ: 'at+jwt', algorithms: ['EdDSA'], audience: 'portcullis:auth' })
  }
}

interface Listed {
  readonly kid: string
  readonly state: string
  readonly signsAt: string
}

describe('signing keys of two processes', () => {
  const folder = scratchFolder()
  const env = {
    PORTCULLIS_DATA_FOLDER: join(folder, 'data'),
    PORTCULLIS_BACKENDS__JWT__STRATEGY__ALGORITHM: 'EdDSA',
    PORTCULLIS_KEYS__CACHE_SECONDS: String(cacheSeconds),
    PORTCULLIS_HTTP__PUBLIC_URL: 'http://localhost:4000',
    PORTCULLIS_LIMITS__ENABLED: 'false',
    PORTCULLIS_PASSWORDS__MAX_WAIT_SECONDS: '60',
  }
  const services: SpawnedService[] = []
  before(async () => {
    services.push(await spawnService(env, folder))
    services.push(await spawnService(env, folder))
    await register(urls()[0] ?? '', 'ada@example.com')
  })
  after(() => Promise.all(services.map((one) => one.end('SIGTERM'))))

  const urls = () => services.map(({ url }) => url)
  const run = (...args: string[]) => portcullis(args, { env, cwd: folder })
  const listed = (out: string): Listed[] =>
    out
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line))
  const statusOf = async (url: string, bearer: string) => (await call(url, 'GET', '/users/me', { bearer })).status

  it(`rotate ${rotations} times under load, and no token is refused`, async () => {
    const verify = cachingVerifier(urls())
    const kids = new Set<string | undefined>()
    const tokens: string[] = []
    let isOver = false
    const load = async (worker: number): Promise<void> => {
      while (!isOver || tokens.length < tokensWanted) {
        const own = urls()[worker % 2] ?? ''
        const other = urls()[(worker + 1) % 2] ?? ''
        const token = await logIn(own, 'ada@example.com')
        tokens.push(token)
        kids.add(decodeProtectedHeader(token).kid)
        const old = tokens[Math.floor(Math.random() * tokens.length)] ?? token
        for (const one of [token, old]) {
          await verify(one)
          for (const url of [own, other]) expect(await statusOf(url, one)).to.equal(200)
        }
      }
    }
    const rotate = async (): Promise<void> => {
      for (let turn = 1; turn <= rotations; turn++) {
        const { code, out } = await run('keys', 'rotate', '--json')
        const [next, ...more] = listed(out)
        expect([code, next?.state, more.length]).to.deep.equal([0, 'next', 0])
        await eventually('the new key signs', () => kids.has(next?.kid))
      }
      isOver = true
    }
    await Promise.all([rotate(), ...[0, 1, 2, 3].map(load)])
    expect(kids.size).to.equal(rotations + 1)
    expect(tokens.length).to.be.at.least(tokensWanted)
    const { out } = await run('keys', 'list', '--json')
    expect(listed(out).map(({ state }) => state)).to.deep.equal(['previous', 'previous', 'previous', 'current'])
  })

  it('are revoked by a command that names the consequences first, and their tokens end at once', async () => {
    const [one = '', other = ''] = urls()
    const token = await logIn(one, 'ada@example.com')
    expect([await statusOf(one, token), await statusOf(other, token)]).to.deep.equal([200, 200])
    const asked = await run('keys', 'revoke')
    expect(asked.code).to.equal(2)
    expect(asked.err)
      .to.include('Every login with a token of these keys ends within 0.5 s')
      .and.to.include('another 2 s')
    expect(await statusOf(one, token)).to.equal(200)
    const { code, out } = await run('keys', 'revoke', '--yes', '--json')
    expect(code).to.equal(0)
    const [fresh] = listed(out)
    for (const url of [one, other])
      await eventually('the end of the token', async () => (await statusOf(url, token)) === 401)
    const again = await logIn(other, 'ada@example.com')
    expect(decodeProtectedHeader(again).kid).to.equal(fresh?.kid)
    expect(await statusOf(one, again)).to.equal(200)
    await cachingVerifier([one])(again)
  })

  it('are rotated by a command with the settings of the service only, and revoked by any', async () => {
    const token = await logIn(urls()[0] ?? '', 'ada@example.com')
    const { PORTCULLIS_BACKENDS__JWT__STRATEGY__ALGORITHM: _, ...without } = env
    const { code, err } = await portcullis(['keys', 'rotate'], { env: without, cwd: folder })
    expect([code, err.includes('backends.<name>.strategy.algorithm')]).to.deep.equal([1, true])
    const revoked = await portcullis(['keys', 'revoke', '--yes'], { env: without, cwd: folder })
    expect([revoked.code, revoked.out]).to.deep.equal([0, 'there are no signing keys\n'])
    for (const url of urls()) await eventually('the end of the token', async () => (await statusOf(url, token)) === 401)
    expect(await statusOf(urls()[0] ?? '', await logIn(urls()[1] ?? '', 'ada@example.com'))).to.equal(200)
  })

  it('cannot be replaced where no backend has any', async () => {
    const cwd = scratchFolder()
    const hmac = { PORTCULLIS_DATA_FOLDER: join(cwd, 'data') }
    const service = await spawnService(hmac, cwd)
    for (const args of [['rotate'], ['revoke', '--yes']]) {
      const { code, err } = await portcullis(['keys', ...args], { env: hmac, cwd })
      expect([code, err.includes('backends.<name>.strategy.algorithm')], args[0]).to.deep.equal([1, true])
    }
    const { code, out } = await portcullis(['keys', 'list'], { env: hmac, cwd })
    expect([code, out]).to.deep.equal([0, 'there are no signing keys\n'])
    await service.end('SIGTERM')
  })
})
