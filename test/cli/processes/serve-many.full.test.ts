import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { scratchModule } from '../../adapters/events/scratch-module.ts'
import { eventually } from '../../support/eventually.ts'
import { logIn, register } from '../../support/http/client.ts'
import { portcullis } from '../../support/process/command-line.ts'
import { projectFile } from '../../support/project/readme-blocks.ts'
import { quickest } from '../../support/scenes/quickest.ts'
import { listen } from '../../support/servers/ports.ts'
import { isAlive, readers, serving, spawnCluster } from '../../support/services/cluster.ts'
import { counted, scrape, withMetrics } from '../../support/services/metrics.ts'
import { type SpawnedService, scratchFolder, spawnService } from '../../support/services/spawned-service.ts'

const reads = 'portcullis_http_request_duration_seconds_count{operation="users:current_user",code="200"}'
const email = 'ada@example.com'

describe('portcullis serve --processes', () => {
  const folder = scratchFolder()
  let service: SpawnedService
  let headers: Readonly<Record<string, string>>

  before(async () => {
    const env = { ...withMetrics, ...quickest, PORTCULLIS_ADMIN__PORT: '0', PORTCULLIS_LOGS__REQUESTS: 'all' }
    service = await spawnCluster(env, folder)
    await register(service.url, email)
    headers = { Authorization: `Bearer ${await logIn(service.url, email)}`, Connection: 'close' }
  })
  after(() => service?.end('SIGKILL'))

  const read = async () => (await fetch(`${service.url}/users/me`, { headers })).status
  const lines = (message: string) =>
    service.errors.filter((line) => line.includes(`"msg":"${message}`)).map((line) => JSON.parse(line))

  it('answers from each process, adds up their figures, and prints its address once', async () => {
    for (let at = 0; at < 8; at += 1) expect(await read()).to.equal(200)
    await counted(service.errors, reads, 8)
    const answering = lines('request').filter(({ route }) => route === '/users/me')
    expect(new Set(answering.map((line) => line.process))).to.deep.equal(new Set(serving(service)))
    const series = await scrape(service.errors)
    expect(series.get('portcullis_tenants{state="open"}')).to.equal(1)
    const [, jobs = 'none'] = /label_values\((\w+)/.exec(projectFile('deploy/grafana-dashboard.json')) ?? []
    expect([...series.keys()].join('\n'), 'the figure whose jobs the dashboard offers').to.include(jobs)
    expect(lines('generated a secret')).to.have.length(1)
    expect(service.errors.filter((line) => line.startsWith('Portcullis listens on'))).to.have.length(1)
  })

  it('serves one console', async () => {
    const urls = new Set(lines('the console is served').map(({ url }) => url))
    expect(urls.size).to.equal(1)
    for (const url of urls) expect((await fetch(url)).status).to.equal(200)
    expect((await fetch(`${service.url}/admin`)).status).to.equal(404)
  })

  it('reloads each process and restarts one after the other, and answers every request', async () => {
    const before = serving(service)
    const clients = readers(service.url, '/healthz', {}, 4)
    await clients.more(20)
    process.kill(service.pid, 'SIGHUP')
    await eventually('two reloads', () => lines('reloaded the settings').length === 2)
    process.kill(service.pid, 'SIGUSR2')
    await eventually('the restart', () => lines('restarted every process').length === 1)
    await clients.more(20)
    await clients.stop()
    expect(clients.failed).to.deep.equal([])
    expect([serving(service).length, before.filter(isAlive)]).to.deep.equal([2, []])
    expect((await scrape(service.errors)).get(reads), 'the figures of ended processes').to.equal(8)
  })

  it('starts another process for one that was killed, whose new connections the others answer', async () => {
    const [killed = 0] = serving(service)
    process.kill(killed, 'SIGSTOP')
    const answers: number[] = []
    const reading = Array.from({ length: 4 }, async () => answers.push(await read()))
    await eventually('the answers of the other process', () => answers.length === 3)
    const reloaded = lines('reloaded the settings').length
    process.kill(service.pid, 'SIGHUP')
    await eventually('the reload of the other process', () => lines('reloaded the settings').length > reloaded)
    process.kill(killed, 'SIGKILL')
    await Promise.all(reading)
    expect(answers).to.deep.equal([200, 200, 200, 200])
    await eventually('two processes again', () => serving(service).length === 2)
    expect(serving(service)).not.to.include(killed)
  })

  it('ends with its first process, and loses nothing', async () => {
    const processes = serving(service)
    await service.end('SIGKILL')
    await eventually('the end of each process', () => !processes.some(isAlive))

    service = await spawnService(quickest, folder, ['--processes', 'auto'])
    expect(lines('the number of processes is chosen')).to.have.length(1)
    await logIn(service.url, email)
    const next = serving(service)
    expect(await service.end('SIGTERM')).to.equal(0)
    expect(next.filter(isAlive)).to.deep.equal([])
  })

  it('says why it does not start', async () => {
    const start = (env: Readonly<Record<string, string>>, processes = '2') =>
      portcullis(['serve', '--processes', processes], { env: { PORTCULLIS_MAIL__URL: 'off', ...env } })
    const other = createServer()
    const port = await listen(other)
    const killing = scratchModule("process.kill(process.pid, 'SIGKILL')")
    const [memory, wrong, taken, killed] = await Promise.all([
      start({ PORTCULLIS_STORES__SESSIONS__KIND: 'memory', PORTCULLIS_MAIL__URL: 'mailbox:' }),
      start({}, '0'),
      start({ PORTCULLIS_HTTP__PORT: `${port}` }),
      start({ PORTCULLIS_HANDLERS__MODULE: fileURLToPath(killing.url), PORTCULLIS_HTTP__PORT: '0' }),
    ])
    other.close()
    killing.remove()
    expect(memory.code).to.equal(2)
    expect(memory.err).to.match(/stores\.sessions\.kind: memory .*without --processes\n *mail\.url: mailbox: /)
    expect([wrong.code, wrong.err.split('\n')[0]]).to.deep.equal([
      2,
      "error: option '--processes <count>' argument '0' is invalid. give a number from 1 to 99, or auto",
    ])
    expect(taken.code).to.equal(1)
    expect(taken.err).to.include('http.port: another program listens there already')
    expect(killed.code).to.equal(1)
    expect(killed.err).to.match(/"signal":"SIGKILL","msg":"the first process was killed while it started/)
  })
})
