import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { call } from './support/http/client.ts'
import { type Command, environmentOf, startCommand, workingCopy } from './support/process/commands.ts'
import {
  type Block,
  blocksOf,
  patternOf,
  projectFile,
  projectRoot,
  theBlock,
  tourOf,
} from './support/project/readme-blocks.ts'
import { goThrough } from './support/project/readme-tour.ts'
import { sharedMongo } from './support/servers/mongo-server.ts'
import { freePort } from './support/servers/ports.ts'
import { goodSecret } from './support/services/settings.ts'
import { dropDatabase, mongoObstacle } from './support/stores/mongo.ts'
import { redisServerObstacle, startRedis } from './support/stores/redis.ts'

/** Starts the service as the page says, and types the page's requests. */
async function follow(page: string, settings: Readonly<Record<string, string>>, after?: After): Promise<void> {
  const blocks = blocksOf(projectFile(page))
  const port = await freePort(3000)
  const here = (text: string): string => text.replaceAll('localhost:3000', `localhost:${port}`)
  const env = environmentOf({ ...settings, ...(port !== 3000 && { PORTCULLIS_HTTP__PORT: `${port}` }) })
  const folder = workingCopy()

  const service = startCommand(['bash', '-c', startOf(blocks)], folder, env)
  try {
    await service.says(patternOf(here(theBlock(blocks, 'text', 'start'))))
    const steps = tourOf(blocks).map((step) => ({ ...step, lines: here(step.lines) }))
    await goThrough(steps, folder, env)
    await after?.(blocks, here)
  } finally {
    service.killGroup('SIGINT')
    await service.ended
  }
}

type After = (blocks: readonly Block[], here: (text: string) => string) => Promise<void>

/** The README starts a fresh clone, the tour the folder that the reader is in. */
function startOf(blocks: readonly Block[]): string {
  const typed = theBlock(blocks, 'bash', 'start')
  return typed.replace(/^git clone .* && cd portcullis\n/, '')
}

describe('the pages that a newcomer follows', () => {
  it('docs/tour.md shows exactly the output of its commands, without any settings', async () => {
    const steps = tourOf(blocksOf(projectFile('docs/tour.md')))
    expect(steps).to.have.length.above(8)
    expect(steps.filter(({ printed }) => printed === '')).to.deep.equal(steps.slice(0, 1))
    await follow('docs/tour.md', {}, async (_, here) => {
      const { body } = await call(here('http://localhost:3000'), 'GET', '/openapi.json')
      expect(body).to.have.property('paths').that.includes.keys('/users/me/factors', '/users/me/factors/passkeys')
    })
  })

  it('the README shows the output of its commands, with MongoDB and Redis as in docs/settings.md', async () => {
    const obstacle = redisServerObstacle() ?? (await mongoObstacle())
    if (obstacle !== null) {
      if (process.env.TEST_REQUIRE_SERVERS === '1') throw new Error(obstacle)
      await follow('README.md', {}, fetches)
      return
    }
    const redis = await startRedis()
    const mongoUrl = (await sharedMongo()).url()
    const here = (name: string, shown: string): string => {
      if (name === 'PORTCULLIS_SECRET') return goodSecret
      return shown.startsWith('mongodb:') ? mongoUrl : shown.startsWith('redis:') ? redis.url : shown
    }
    const typed = theBlock(blocksOf(projectFile('docs/settings.md')), 'bash', 'stores')
    const exported = [...typed.matchAll(/^export (\w+)=(\S+)/gm)]
    try {
      await follow(
        'README.md',
        Object.fromEntries(exported.map(([, name = '', value = '']) => [name, here(name, value)])),
        fetches,
      )
    } finally {
      await redis.close()
      await dropDatabase(mongoUrl)
    }
  })

  it('the README shows settings of production that `config check` accepts without a warning', async () => {
    const typed = theBlock(blocksOf(projectFile('README.md')), 'bash', 'production')
    const { ended, output } = startCommand(['bash', '-euc', typed], workingCopy(), environmentOf({}))
    expect(await ended, output.error).to.equal(0)
    expect(output.standard).to.include('https://accounts.example.com')
    expect(output.error).to.not.match(/^portcullis: /m)
  })
})

async function fetches(blocks: readonly Block[], here: (text: string) => string): Promise<void> {
  const program = ['--input-type=module', '-e', here(theBlock(blocks, 'js', 'fetch'))]
  const { ended, output } = startCommand([process.execPath, ...program], projectRoot, environmentOf({}))
  expect(await ended, output.error).to.equal(0)
  expect(output.standard).to.equal(theBlock(blocks, 'text', 'fetch'))
}

describe('npm start', () => {
  /** The service once it listens, and where. */
  async function npmStart(folder: string): Promise<{ service: Command; url: string }> {
    const service = startCommand(['npm', 'start'], folder, environmentOf({ PORTCULLIS_HTTP__PORT: '0' }))
    const [, url = ''] = await service.says(/^Portcullis listens on (\S+)$/m)
    return { service, url }
  }

  /** The exit code of a service that ends in order. */
  async function ending(service: Command, end: () => void): Promise<number | string> {
    end()
    const code = await service.ended
    expect(service.output.error).to.include('"msg":"stopped"')
    return code
  }

  it('keeps its users, and their second factors when a settings file comes, after a SIGTERM to npm', async () => {
    const folder = workingCopy()
    const body = { email: 'ada@example.com', password: 'tide-lamp-quartz' }

    const first = await npmStart(folder)
    expect((await call(first.url, 'POST', '/auth/register', { json: body })).status).to.equal(201)
    const code = await ending(first.service, () => first.service.kill('SIGTERM'))
    expect(code).to.equal(0)

    writeFileSync(join(folder, 'portcullis.config.json'), '{ "users": { "fields": { "plan": { "type": "string" } } } }')
    const second = await npmStart(folder)
    expect((await call(second.url, 'GET', '/users/me/factors')).status).to.equal(401)
    const form = { username: body.email, password: body.password }
    expect((await call(second.url, 'POST', '/auth/jwt/login', { form })).status).to.equal(200)
    second.service.killGroup('SIGTERM')
    expect(await second.service.ended).to.equal(0)
  })

  it('stops in order at Ctrl-C, although the service gets the signal twice, without factors where the file says so', async () => {
    const folder = workingCopy()
    writeFileSync(join(folder, 'portcullis.config.json'), '{ "routers": { "factors": { "enabled": false } } }')
    const { service, url } = await npmStart(folder)
    expect((await call(url, 'GET', '/users/me/factors')).status).to.equal(404)
    const code = await ending(service, () => service.killGroup('SIGINT'))
    expect(code).to.equal(0)
    expect(
      await fetch(url).then(
        () => 'answers',
        () => 'is gone',
      ),
    ).to.equal('is gone')
  })

  it('prints one line of JSON per event on standard output, below the output of npm', async () => {
    const { service, url } = await npmStart(workingCopy())
    const json = { email: 'ada@example.com', password: 'tide-lamp-quartz' }
    await call(url, 'POST', '/auth/register', { json })
    while (!service.output.standard.includes('on_after_request_verify'))
      await new Promise((resolve) => setTimeout(resolve, 20))
    await ending(service, () => service.kill('SIGTERM'))
    const lines = service.output.standard
      .trimEnd()
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('> '))
    expect(lines.map((line) => JSON.parse(line).event)).to.deep.equal(['on_after_register', 'on_after_request_verify'])
  })
})
