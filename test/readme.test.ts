import { expect } from 'chai'
import { call } from './support/client.ts'
import { type Command, environmentOf, portNear, startCommand, workingCopy } from './support/commands.ts'
import { dropDatabase, mongoObstacle } from './support/mongo.ts'
import { sharedMongo } from './support/mongo-server.ts'
import { blocksOf, patternOf, projectFile, theBlock, tourOf } from './support/readme-blocks.ts'
import { goThrough } from './support/readme-tour.ts'
import { redisServerObstacle, startRedis } from './support/redis.ts'
import { goodSecret } from './support/settings.ts'

const blocks = blocksOf(projectFile('README.md'))
const steps = tourOf(blocks)

describe("the README's tour", function () {
  this.timeout(60_000)

  /** Goes through it word for word, and compares what is printed with what the reader is told. */
  async function go(settings: Readonly<Record<string, string>>, { isShared }: { isShared: boolean }): Promise<void> {
    const port = await portNear(3000)
    const here = (text: string): string => text.replaceAll('localhost:3000', `localhost:${port}`)
    const env = environmentOf({ ...settings, ...(port !== 3000 && { PORTCULLIS_HTTP__PORT: `${port}` }) })
    const folder = workingCopy()

    const service = startCommand(['bash', '-c', theBlock(blocks, 'bash', 'start')], folder, env)
    try {
      await service.says(patternOf(here(theBlock(blocks, 'text', 'start'))))
      const taken = steps.filter(({ needsSharedStore }) => isShared || !needsSharedStore)
      await goThrough(
        taken.map((step) => ({ ...step, lines: here(step.lines) })),
        folder,
        env,
      )
    } finally {
      service.killGroup('SIGINT')
      await service.ended
    }
  }

  it('shows what is printed at every step but the first', () => {
    expect(steps.length).to.be.above(8)
    expect(steps.filter(({ printed }) => printed === '')).to.deep.equal(steps.slice(0, 1))
    expect(steps.filter(({ needsSharedStore }) => needsSharedStore)).to.have.lengthOf(2)
  })

  it('works with nothing set', async () => {
    await go({}, { isShared: true })
  })

  it('works with everything in memory, but for the superuser', async () => {
    await go({ PORTCULLIS_STORES__USERS__KIND: 'memory' }, { isShared: false })
  })

  it('works on MongoDB and Redis, by the settings it shows', async function () {
    const obstacle = redisServerObstacle() ?? (await mongoObstacle())
    if (obstacle !== null) {
      if (process.env.TEST_REQUIRE_SERVERS === '1') throw new Error(obstacle)
      process.once('exit', () => console.warn(`NOT TRIED: the README's tour on MongoDB and Redis, since ${obstacle}`))
      this.skip()
    }
    const redis = await startRedis()
    const mongoUrl = (await sharedMongo()).url()
    const here = (name: string, shown: string): string => {
      if (name === 'PORTCULLIS_SECRET') return goodSecret
      return shown.startsWith('mongodb:') ? mongoUrl : shown.startsWith('redis:') ? redis.url : shown
    }
    const shown = [...theBlock(blocks, 'bash', 'stores').matchAll(/^export (\w+)=(\S+)/gm)]
    try {
      await go(Object.fromEntries(shown.map(([, name = '', value = '']) => [name, here(name, value)])), {
        isShared: true,
      })
    } finally {
      await redis.close()
      await dropDatabase(mongoUrl)
    }
  })
})

describe('npm start', function () {
  this.timeout(30_000)

  /** The service once it listens, where, and how long that took. */
  async function npmStart(folder: string): Promise<{ service: Command; url: string; milliseconds: number }> {
    const began = performance.now()
    const service = startCommand(['npm', 'start'], folder, environmentOf({ PORTCULLIS_HTTP__PORT: '0' }))
    const [, url = ''] = await service.says(/^Portcullis listens on (\S+)$/m)
    return { service, url, milliseconds: performance.now() - began }
  }

  /** The exit code, and how long it took. */
  async function ending(service: Command, end: () => void): Promise<{ code: number | string; milliseconds: number }> {
    const began = performance.now()
    end()
    const code = await service.ended
    expect(service.output.error).to.include('"msg":"stopped"')
    return { code, milliseconds: performance.now() - began }
  }

  it('serves again what it served before, soon, after a SIGTERM that reached npm first', async () => {
    const folder = workingCopy()
    const body = { email: 'ada@example.com', password: 'tide-lamp-quartz' }

    const first = await npmStart(folder)
    expect((await call(first.url, 'POST', '/auth/register', { json: body })).status).to.equal(201)
    const ended = await ending(first.service, () => first.service.kill('SIGTERM'))
    expect(ended.code).to.equal(0)
    expect(ended.milliseconds).to.be.below(10_000)

    const second = await npmStart(folder)
    expect(second.milliseconds).to.be.below(10_000)
    const form = { username: body.email, password: body.password }
    expect((await call(second.url, 'POST', '/auth/jwt/login', { form })).status).to.equal(200)
    second.service.killGroup('SIGTERM')
    expect(await second.service.ended).to.equal(0)
  })

  it('ends in order at Ctrl-C, which reaches npm and the service, and the service by npm again', async () => {
    const { service, url } = await npmStart(workingCopy())
    const ended = await ending(service, () => service.killGroup('SIGINT'))
    expect(ended.code).to.equal(0)
    expect(ended.milliseconds).to.be.below(10_000)
    expect(
      await fetch(url).then(
        () => 'answers',
        () => 'is gone',
      ),
    ).to.equal('is gone')
  })

  it('prints one line of JSON per event on standard output, below what npm prints', async () => {
    const { service, url } = await npmStart(workingCopy())
    const json = { email: 'ada@example.com', password: 'tide-lamp-quartz' }
    await call(url, 'POST', '/auth/register', { json })
    while (!service.output.standard.includes('on_after_register'))
      await new Promise((resolve) => setTimeout(resolve, 20))
    await ending(service, () => service.kill('SIGTERM'))
    const lines = service.output.standard
      .trimEnd()
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('> '))
    expect(lines.map((line) => JSON.parse(line).event)).to.deep.equal(['on_after_register'])
  })
})
