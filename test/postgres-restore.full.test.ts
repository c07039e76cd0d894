import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect } from 'chai'
import { goodPassword, logIn, register } from './support/http/client.ts'
import { projectFile } from './support/project/readme-blocks.ts'
import { needsDeployment, onPostgres } from './support/services/deployments.ts'
import { startTestService } from './support/services/service.ts'
import { scratchFolder } from './support/services/spawned-service.ts'

const documented = 'postgres://portcullis:password@127.0.0.1/portcullis'
const url = 'PORTCULLIS_STORES__USERS__URL'

/** The command of the page that begins with this word, with its continued lines. */
function commandOf(program: string): string {
  const [command] = new RegExp(`^ *${program} (.*\\\\\n)*.*$`, 'm').exec(projectFile('docs/postgresql.md')) ?? []
  return command ?? expect.fail(`the page has no ${program}`)
}

describe('a backup of PostgreSQL', () => {
  before(async function () {
    await needsDeployment(this, onPostgres)
  })

  it('restores the users into an empty database by the documented commands', async () => {
    const [from, to] = [await onPostgres.settings(), await onPostgres.settings()]
    const file = join(scratchFolder(), 'portcullis.dump')
    const run = (program: string, address = '') => {
      const command = commandOf(program).replace(documented, address).replace('/backup/portcullis.dump', file)
      const { status, stderr } = spawnSync('sh', ['-c', command], { encoding: 'utf8' })
      expect(status, stderr).to.equal(0)
    }
    const service = await startTestService(from)
    const { email } = await register(service.url, 'ada@example.com')
    run('pg_dump', from[url])
    await service.stop()
    run('pg_restore', to[url])
    const restored = await startTestService(to)
    expect(await logIn(restored.url, email, goodPassword)).to.be.a('string')
    await restored.stop()
    for (const settings of [from, to]) await onPostgres.remove(settings)
  })
})
