import { expect } from 'chai'
import { eventually } from '../../support/eventually.ts'
import { logIn, register } from '../../support/http/client.ts'
import { quickest } from '../../support/scenes/quickest.ts'
import { isAlive, readers, serving, spawnCluster } from '../../support/services/cluster.ts'
import { type SpawnedService, scratchFolder } from '../../support/services/spawned-service.ts'

const email = 'ada@example.com'
const clients = 100
const kills = 5

describe('the processes of serve --processes, under a hundred clients', function () {
  this.timeout(600_000)
  let service: SpawnedService
  let headers: Readonly<Record<string, string>>
  let load: ReturnType<typeof readers>

  before(async () => {
    service = await spawnCluster(quickest, scratchFolder())
    await register(service.url, email)
    headers = { Authorization: `Bearer ${await logIn(service.url, email)}` }
  })
  beforeEach(async () => {
    load = readers(service.url, '/users/me', headers, clients)
    await load.begun()
  })
  after(() => service?.end('SIGKILL'))

  const happened = (message: string) => service.errors.filter((line) => line.includes(`"msg":"${message}`)).length

  it('fail no request while each is reloaded and restarted', async () => {
    process.kill(service.pid, 'SIGHUP')
    await eventually('the reloads', () => happened('reloaded the settings') === 2)
    await load.more(5 * clients)
    process.kill(service.pid, 'SIGUSR2')
    await eventually('the restart', () => happened('restarted every process') === 1)
    await load.more(5 * clients)
    console.info(`      ${await load.stop()} answers, ${load.failed.length} failed`)
    expect(load.failed).to.deep.equal([])
  })

  it('fail at most what a killed one held, and answer at once', async () => {
    const waits: number[] = []
    for (let kill = 1; kill <= kills; kill += 1) {
      const [killed = 0] = serving(service)
      const before = performance.now()
      process.kill(killed, 'SIGKILL')
      await fetch(`${service.url}/users/me`, { headers: { ...headers, Connection: 'close' } })
      waits.push(performance.now() - before)
      await eventually('two processes again', () => serving(service).length === 2)
      await load.more(clients)
    }
    console.info(`      ${await load.stop()} answers, ${load.failed.length} failed in ${kills} kills`)
    console.info(`      next answers after ${waits.map((wait) => `${Math.round(wait)} ms`).join(', ')}`)
    expect(load.failed.length).to.be.at.most(kills * clients)
  })

  it('end with the first process, and answer what they have begun', async () => {
    const processes = serving(service)
    const ended = service.end('SIGKILL')
    await eventually('the end of each process', () => !processes.some(isAlive))
    await ended
    await load.stop()
    expect(load.failed.filter((fault) => !fault.includes('ECONNREFUSED'))).to.deep.equal([])
  })
})
