import { join } from 'node:path'
import { expect } from 'chai'
import { decodeProtectedHeader } from 'jose'
import { eventually } from './support/eventually.ts'
import { cachingVerifier } from './support/http/caching-verifier.ts'
import { call, logIn, register } from './support/http/client.ts'
import { portcullis } from './support/process/command-line.ts'
import { quickest } from './support/scenes/quickest.ts'
import { type SpawnedService, scratchFolder, spawnService } from './support/services/spawned-service.ts'

const cacheSeconds = 1
const rotations = 2
const tokensWanted = 100

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
    ...quickest,
  }
  const services: SpawnedService[] = []
  before(async () => {
    services.push(...(await Promise.all([spawnService(env, folder), spawnService(env, folder)])))
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

  const verifierOf = (url: () => string) => cachingVerifier(cacheSeconds, (path) => fetch(`${url()}${path}`))

  it(`rotate ${rotations} times under load, and no token is refused`, async () => {
    let asked = 0
    const verify = verifierOf(() => urls()[asked++ % 2] ?? '')
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
    expect(listed(out).map(({ state }) => state)).to.deep.equal(['previous', 'previous', 'current'])
  })

  it('are revoked by a command that names the consequences first, and their tokens end at once', async () => {
    const [one = '', other = ''] = urls()
    const token = await logIn(one, 'ada@example.com')
    expect([await statusOf(one, token), await statusOf(other, token)]).to.deep.equal([200, 200])
    const asked = await run('keys', 'revoke')
    expect(asked.code).to.equal(2)
    expect(asked.err)
      .to.include('Every login with a token of these keys ends within 0.25 s')
      .and.to.include('restart them to end this now')
    expect(await statusOf(one, token)).to.equal(200)
    const { code, out } = await run('keys', 'revoke', '--yes', '--json')
    expect(code).to.equal(0)
    const [fresh] = listed(out)
    for (const url of [one, other])
      await eventually('the end of the token', async () => (await statusOf(url, token)) === 401)
    const again = await logIn(other, 'ada@example.com')
    expect(decodeProtectedHeader(again).kid).to.equal(fresh?.kid)
    expect(await statusOf(one, again)).to.equal(200)
    await verifierOf(() => one)(again)
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
    const replacing = [['rotate'], ['revoke', '--yes']].map(async (args) => {
      const { code, err } = await portcullis(['keys', ...args], { env: hmac, cwd })
      expect([code, err.includes('backends.<name>.strategy.algorithm')], args[0]).to.deep.equal([1, true])
    })
    const [{ code, out }] = await Promise.all([portcullis(['keys', 'list'], { env: hmac, cwd }), ...replacing])
    expect([code, out]).to.deep.equal([0, 'there are no signing keys\n'])
    await service.end('SIGTERM')
  })
})
