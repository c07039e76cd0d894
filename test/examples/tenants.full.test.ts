import { expect } from 'chai'
import { environmentOf, startCommand, workingCopy } from '../support/commands.ts'
import { needsDeployment, onMongoAndRedis } from '../support/deployments.ts'
import { dropDatabase } from '../support/mongo.ts'
import { sharedMongo } from '../support/mongo-server.ts'
import { blocksOf, patternOf, projectFile, theBlock } from '../support/readme-blocks.ts'
import { sharedRedisUrl } from '../support/redis.ts'
import { goodSecret } from '../support/settings.ts'

const blocks = blocksOf(projectFile('examples/tenants/README.md'))

/** What a command of its README prints, typed twice in one folder: the second time everybody is registered already. */
async function printedTwice(command: string, env: Readonly<Record<string, string>>): Promise<string[]> {
  const folder = workingCopy()
  const printed: string[] = []
  for (const _ of ['first', 'again']) {
    const { ended, output } = startCommand(['bash', '-c', command], folder, environmentOf(env))
    expect(await ended, output.error).to.equal(0)
    expect(output.error.replace(/^npm warn .*\n/gm, '')).to.equal('')
    printed.push(output.standard.replace(/^> .*\n|^\n(?=>|$)/gm, '').trimStart())
  }
  return printed
}

describe('examples/tenants', () => {
  it('runs by one command with no server there, and again', async () => {
    const printed = await printedTwice(theBlock(blocks, 'bash', 'start'), { MONGODB_URL: '', REDIS_URL: '' })
    const told = theBlock(blocks, 'text', 'nothing-set')
    expect(printed).to.deep.equal([told, told])
  })

  it('runs with one tenant on SQLite, one on MongoDB, one with Redis, and again', async function () {
    await needsDeployment(this, onMongoAndRedis)
    const url = (await sharedMongo()).url()
    const env = { PORTCULLIS_SECRET: goodSecret, MONGODB_URL: url, REDIS_URL: await sharedRedisUrl() }
    const typed = theBlock(blocks, 'bash', 'servers')
    const named = [...typed.matchAll(/^export (\w+)=/gm)].map(([, name]) => name)
    expect(named).to.have.members(Object.keys(env))
    try {
      const printed = await printedTwice(typed.replaceAll(/^export .*\n/gm, ''), env)
      const told = theBlock(blocks, 'text', 'servers')
      expect(printed.map((text) => patternOf(told).test(text))).to.deep.equal([true, true])
      expect(printed[1]).to.equal(told)
    } finally {
      await dropDatabase(url)
    }
  })
})
