// The router `factors` is turned off, and users have factors.
import { join } from 'node:path'
import { expect } from 'chai'
import { anAddress, seen } from '../support/http/answers.ts'
import { call, goodPassword, logIn, register } from '../support/http/client.ts'
import { portcullis } from '../support/process/command-line.ts'
import { enrolled } from '../support/scenes/factors.ts'
import { startTestService } from '../support/services/service.ts'
import { scratchFolder } from '../support/services/spawned-service.ts'

const warning = 'users have second factors, but no route takes them'

describe('a service with second factors turned off', () => {
  it('warns at the start, answers 503 to the login of a user who has one, and tells the reason in the log', async () => {
    const dataFolder = join(scratchFolder(), 'data')
    const before = await startTestService({ PORTCULLIS_ROUTERS__FACTORS__ENABLED: 'true' }, { dataFolder })
    const { email, bearer } = await enrolled(before.url, anAddress(), () => new Date())
    expect(before.logLines.join('')).to.not.include(warning)
    await before.stop()

    const { url, logLines, stop } = await startTestService({}, { dataFolder })
    expect(logLines.filter((line) => line.includes(warning))).to.have.lengthOf(1)
    const check = async (env: Readonly<Record<string, string>> = {}) =>
      (await portcullis(['storage', 'check'], { cwd: dataFolder, env: { PORTCULLIS_DATA_FOLDER: dataFolder, ...env } }))
        .out
    expect(await check()).to.include('cannot log in: routers.factors.enabled is off')
    expect(await check({ PORTCULLIS_ROUTERS__FACTORS__ENABLED: 'true' })).to.not.include('routers.factors')
    for (const backend of ['jwt', 'cookie']) {
      const answer = await call(url, 'POST', `/auth/${backend}/login`, {
        form: { username: email, password: goodPassword },
      })
      expect(seen(answer)).to.deep.equal({ status: 503, body: { detail: 'SERVICE_UNAVAILABLE' } })
      expect(answer.headers.getSetCookie()).to.deep.equal([])
    }
    expect(logLines.join('')).to.include('a user has a second factor, and routers.factors.enabled is off')
    expect((await call(url, 'GET', '/users/me', { bearer })).status, 'a session from before').to.equal(200)
    const other = anAddress()
    await register(url, other)
    expect(await logIn(url, other)).to.match(/^ey/)
    await stop()
  })
})
