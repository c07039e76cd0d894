import { once } from 'node:events'
import { get } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import { eventually } from './support/eventually.ts'
import { goodPassword, logIn, register } from './support/http/client.ts'
import { rounds } from './support/mocha/long.ts'
import { quickest } from './support/scenes/quickest.ts'
import { type Nginx, needsNginx, startNginx } from './support/servers/nginx.ts'
import { freePort } from './support/servers/ports.ts'
import { type SpawnedService, scratchFolder, spawnService } from './support/services/spawned-service.ts'

const clients = { read: 4, verify: 6, logIn: 2 }
const restarts = rounds(4, 8)
/** In one restart. */
const mostFailedPosts = 4

describe('two processes behind the documented nginx', function () {
  this.timeout(600_000)
  const folder = scratchFolder()
  const email = 'ada@example.com'
  let ports: [number, number]
  let services: [SpawnedService, SpawnedService]
  let nginx: Nginx

  const start = (port: number) => {
    const env = { PORTCULLIS_HTTP__PORT: `${port}`, PORTCULLIS_LIMITS__ENABLED: 'false', ...quickest }
    return spawnService({ ...env, PORTCULLIS_PASSWORDS__MAX_WAIT_SECONDS: '60' }, folder)
  }

  before(async function () {
    needsNginx(this)
    ports = [await freePort(), await freePort()]
    services = [await start(ports[0]), await start(ports[1])]
    nginx = await startNginx(ports)
    await register(nginx.url, email)
  })
  after(async () => {
    await nginx?.close()
    await Promise.all(services?.map((service) => service.end('SIGTERM')) ?? [])
  })

  it('answer every GET, and all but a few POSTs, while one after the other restarts', async () => {
    const headers = { Authorization: `Bearer ${await logIn(nginx.url, email)}` }
    const json = { 'Content-Type': 'application/json' }
    const form = new URLSearchParams({ username: email, password: goodPassword })
    const requests = {
      read: { path: '/users/me', wanted: 200, init: { headers } },
      verify: { path: '/auth/verify', wanted: 400, init: { method: 'POST', headers: json, body: '{"token":"x"}' } },
      logIn: { path: '/auth/jwt/login', wanted: 200, init: { method: 'POST', body: form } },
    }
    const answered = { read: 0, verify: 0, logIn: 0 }
    const failed = { read: [] as string[], verify: [] as string[], logIn: [] as string[] }
    let isOver = false
    let isStarting = false

    const load = (['read', 'verify', 'logIn'] as const).flatMap((kind) =>
      Array.from({ length: clients[kind] }, async () => {
        const { path, wanted, init } = requests[kind]
        while (!isOver) {
          const fault = await fetch(`${nginx.url}${path}`, init).then(
            async (answer) => (answer.status === wanted ? null : `${answer.status} ${await answer.text()}`),
            (error: Error) => String(error.cause ?? error),
          )
          answered[kind] += 1
          if (fault !== null) failed[kind].push(fault)
          // Otherwise the load takes the processor from the process that starts.
          if (isStarting) await delay(20)
        }
      }),
    )
    const more = (kind: keyof typeof answered, count: number) => {
      const before = answered[kind]
      return eventually(`${count} answers`, () => answered[kind] >= before + count)
    }

    const failedPosts: number[] = []
    const postsFailed = () => failed.verify.length + failed.logIn.length
    for (let restart = 0; restart < restarts; restart += 1) {
      const at = restart % 2 === 0 ? 0 : 1
      await Promise.all([more('read', 40), more('verify', 40), more('logIn', 5)])
      const before = postsFailed()
      expect(await services[at].end('SIGTERM')).to.equal(0)
      await Promise.all([more('read', 20), more('verify', 20), more('logIn', 3)])
      failedPosts.push(postsFailed() - before)
      isStarting = true
      services[at] = await start(ports[at])
      isStarting = false
    }
    isOver = true
    await Promise.all(load)
    expect(failed.read).to.deep.equal([])
    const broken = nginx.errors().filter((line) => !line.includes('Connection refused')) // those are repeated
    const reasons = [...failed.verify, ...failed.logIn, ...broken].join('\n')
    expect(Math.max(...failedPosts), reasons).to.be.at.most(mostFailedPosts)
    // A stop that keeps connections alive until its grace period ends fails at least one POST each time.
    expect(failedPosts.filter((count) => count > 0).length, reasons).to.be.at.most(restarts / 2)
  })

  it('are spared a flood of sign-ins at providers, and serve other requests meanwhile', async () => {
    const origin = 'https://app.example.com'
    for (const path of ['/auth/google/authorize', '/auth/associate/google/callback']) {
      const ask = () => fetch(`${nginx.url}${path}`, { headers: { Origin: origin } })
      const refused = await eventually('a refusal', () => ask().then((answer) => answer.status === 429 && answer))
      expect(await refused.json()).to.deep.equal({ detail: 'TOO_MANY_REQUESTS' })
      expect(refused.headers.get('Access-Control-Allow-Origin')).to.equal(origin)
      const navigation = await eventually('a refused navigation', async () => {
        const [answer] = await once(
          get(`${nginx.url}${path}`, { headers: { 'Sec-Fetch-Mode': 'navigate' } }),
          'response',
        )
        const page = await text(answer)
        return answer.statusCode === 429 && { type: answer.headers['content-type'], page }
      })
      expect(navigation.type).to.equal('text/html')
      expect(navigation.page).to.include('The service is busy.')
      expect((await fetch(`${nginx.url}/healthz`)).status).to.equal(200)
    }
  })

  it('are spared a flood from all addresses of one IPv6 /64, and serve another one', async () => {
    const ask = async (address: string) => {
      const answer = await fetch(`${nginx.url}/auth/google/authorize`, { headers: { 'X-Test-Client': address } })
      await answer.text()
      return answer.status
    }
    let at = 0
    await eventually('a refusal', async () => (await ask(`2001:db8:1:2:${++at}::1`)) === 429)
    for (const other of ['2001:db8:1:3::1', '198.51.100.1', '::ffff:198.51.100.2'])
      expect(await ask(other)).to.equal(404)
    await eventually('a refusal of IPv4', async () => (await ask('::ffff:198.51.100.2')) === 429)
    expect(await ask('::ffff:198.51.100.3'), 'IPv4 on an IPv6 socket').to.equal(404)
  })

  it('have no token of a link and no code of a provider in the log of nginx', async () => {
    await fetch(`${nginx.url}/account/reset%23token=secret`)
    await fetch(`${nginx.url}/auth/google/callback?code=secret`)
    const lines = await eventually('the last request', async () => {
      const logged = await nginx.requests()
      return logged.some((line) => line.includes('"GET /auth/google/callback"')) && logged
    })
    expect(lines.filter((line) => line.includes('secret'))).to.deep.equal([])
    expect(lines.join('\n')).to.include('"GET /account/reset"')
  })
})
