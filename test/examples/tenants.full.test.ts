import { expect } from 'chai'
import { environmentOf, startCommand, workingCopy } from '../support/process/commands.ts'
import { blocksOf, patternOf, projectFile, theBlock } from '../support/project/readme-blocks.ts'
import { sharedMongo } from '../support/servers/mongo-server.ts'
import { needsDeployment, onMongoAndRedis } from '../support/services/deployments.ts'
import { goodSecret } from '../support/services/settings.ts'
import { dropDatabase } from '../support/stores/mongo.ts'
import { sharedRedisUrl } from '../support/stores/redis.ts'

const blocks = blocksOf(projectFile('examples/tenants/README.md'))

/** The output of a command of the README, run twice in one folder: the second time all users exist. */
async function printedTwice(command: string, env: Readonly<Record<string, string>>): Promise<string[]> {
  const folder = workingCopy()
  return [await printedBy(command, folder, env), await printedBy(command, folder, env)]
}

async function printedBy(command: string, folder: string, env: Readonly<Record<string, string>>): Promise<string> {
  for (let attempt = 1; ; attempt++) {
    const { ended, output } = startCommand(['bash', '-c', command], folder, environmentOf(env))
    const code = await ended
    // On a busy machine a server may answer too late.
    if (code !== 0 && output.error.includes('Unavailable') && attempt < 5) continue
    expect(code, output.error).to.equal(0)
    expect(output.error.replace(/^npm warn .*\n/gm, '')).to.equal('')
    return output.standard.replace(/^> .*\n|^\n(?=>|$)/gm, '').trimStart()
  }
}

describe('examples/tenants', () => {
  it('runs twice with one command, without any server', async () => {
    const printed = await printedTwice(theBlock(blocks, 'bash', 'start'), { MONGODB_URL: '', REDIS_URL: '' })
    const shown = theBlock(blocks, 'text', 'nothing-set')
    expect(printed).to.deep.equal([shown, shown])
  })

  it('runs twice with tenants on SQLite, MongoDB and Redis', async function () {
    await needsDeployment(this, onMongoAndRedis)
    const url = (await sharedMongo()).url()
    const env = { PORTCULLIS_SECRET: goodSecret, MONGODB_URL: url, REDIS_URL: await sharedRedisUrl() }
    const typed = theBlock(blocks, 'bash', 'servers')
    const named = [...typed.matchAll(/^export (\w+)=/gm)].map(([, name]) => name)
    expect(named).to.have.members(Object.keys(env))
    try {
      const printed = await printedTwice(typed.replaceAll(/^export .*\n/gm, ''), env)
      const shown = theBlock(blocks, 'text', 'servers')
      expect(printed.map((text) => patternOf(shown).test(text))).to.deep.equal([true, true])
      expect(printed[1]).to.equal(shown)
    } finally {
      await dropDatabase(url)
    }
  })
})
