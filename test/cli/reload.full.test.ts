import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { eventually } from '../support/eventually.ts'
import { call, logInByCookie, register } from '../support/http/client.ts'
import { type SpawnedService, scratchFolder, spawnService } from '../support/services/spawned-service.ts'

describe('SIGHUP without tenants', () => {
  const origin = 'http://localhost:5173'
  const cwd = scratchFolder()
  const settle = (settings: object) => writeFile(join(cwd, 'portcullis.config.json'), JSON.stringify(settings))
  let service: SpawnedService

  before(async () => {
    await settle({ http: { allowedOrigins: [] } })
    service = await spawnService({ PORTCULLIS_PAGES__ENABLED: 'true' }, cwd)
  })
  after(() => service?.end('SIGTERM'))

  const isReadable = async (path: string) => {
    const answer = await call(service.url, 'GET', path, { headers: { Origin: origin } })
    return answer.headers.get('Access-Control-Allow-Origin') === origin
  }
  const pageOf = async (path: string) => (await fetch(`${service.url}${path}`)).text()
  const lines = (message: string) =>
    service.errors.filter((line) => line.includes(message)).map((line) => JSON.parse(line).settings)

  /** Sends the signal and waits for a further line with this message. */
  async function hangUp(message: string): Promise<readonly string[]> {
    const before = lines(message).length
    process.kill(service.pid, 'SIGHUP')
    await eventually(message, () => lines(message).length > before)
    return lines(message).at(-1)
  }

  it('applies the origins and the level of the log, and names the settings that need a restart', async () => {
    const { email } = await register(service.url, 'ada@example.com')
    const cookie = await logInByCookie(service.url, email)
    const logOut = () => call(service.url, 'POST', '/auth/cookie/logout', { cookie, headers: { Origin: origin } })
    expect([await isReadable('/users/me'), await isReadable('/healthz')]).to.deep.equal([false, false])
    expect((await logOut()).status).to.equal(403)
    expect(await pageOf('/account/sign-in')).not.to.include(origin)

    const http = { allowedOrigins: [origin] }
    await settle({ http, logs: { level: 'warn' }, passwords: { minLength: 12 }, secret: 'x'.repeat(40) })
    expect(await hangUp('restart to apply them')).to.have.members(['secret', 'passwords.minLength'])
    expect([await isReadable('/users/me'), await isReadable('/healthz')]).to.deep.equal([true, true])
    expect((await logOut()).status).to.equal(204)
    expect(await pageOf('/account/sign-in'), 'where pages may lead to').to.include(origin)
    expect(lines('reloaded the settings')).to.deep.equal([])

    await settle({ http })
    expect(await hangUp('reloaded the settings')).to.deep.equal(['logs.level'])
    expect(await hangUp('reloaded the settings')).to.deep.equal([])
    expect(lines('restart to apply them')).to.have.length(1)
    await settle({})
    expect(await hangUp('reloaded the settings')).to.deep.equal(['http.allowedOrigins'])
    expect([await isReadable('/users/me'), await isReadable('/healthz')]).to.deep.equal([false, false])
  })

  it('changes nothing when a setting is wrong, or when tenants.by has appeared', async () => {
    await settle({ http: { allowedOrigins: [origin], prot: 1 } })
    await hangUp('the settings cannot be read: nothing was reloaded')
    await settle({ http: { allowedOrigins: [origin] }, mail: { from: 'Acme' } })
    await hangUp('the settings cannot be read: nothing was reloaded')
    expect(await isReadable('/users/me')).to.equal(false)
    expect(service.errors.at(-1)).to.include('Acme <accounts@example.com>') // a hint, and no address of a user
    await settle({ http: { allowedOrigins: [origin] }, tenants: { by: 'path' } })
    await hangUp('tenants.by has changed')
    expect(await isReadable('/users/me')).to.equal(false)
  })
})
