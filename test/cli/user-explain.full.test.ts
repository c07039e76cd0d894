import { expect } from 'chai'
import { newId } from '../../src/adapters/crypto/new-id.ts'
import { eventually } from '../support/eventually.ts'
import { call, register } from '../support/http/client.ts'
import { portcullis } from '../support/process/command-line.ts'
import { needsDeployment, onMongoAndRedis, onSqlite } from '../support/services/deployments.ts'
import { type SpawnedService, scratchFolder, spawnService } from '../support/services/spawned-service.ts'

for (const deployment of [onSqlite, onMongoAndRedis]) {
  describe(`portcullis user explain, beside a service on ${deployment.name}`, () => {
    const folder = scratchFolder()
    let env: Record<string, string>
    let service: SpawnedService

    before(async function () {
      await needsDeployment(this, deployment)
      env = await deployment.settings()
      service = await spawnService(env, folder)
    })
    after(async () => {
      await service?.end('SIGTERM')
      if (env !== undefined) await deployment.remove(env)
    })

    const explain = (...args: string[]) => portcullis(['user', 'explain', ...args], { cwd: folder, env })
    const wrongLogin = (username: string) =>
      call(service.url, 'POST', '/auth/jwt/login', { form: { username, password: 'wrong' } })

    it('names the likeliest cause in the first line, and what to do', async () => {
      const email = 'ada@explained.example'
      await register(service.url, email)
      await wrongLogin(email)
      const out = await eventually('the refused login', async () => {
        const { code, out } = await explain(email)
        expect(code).to.equal(0)
        return /^refused: /m.test(out) ? out : undefined
      })
      const [first, ...lines] = out.split('\n')
      expect(first).to.match(/^The password was wrong\. .*user reset-link/)
      expect(lines).to.include('can log in: yes').and.include('last login: never')
      expect(out).to.match(/^refused: \S+Z wrong_password$/m)
      expect(out).to.match(/^limit used: passwordsPerAccount \(all clients\) 1 of 100/m)
      const json = JSON.parse((await explain(email, '--json')).out)
      expect(json.causes[0]).to.include({ code: 'wrong_password', count: 1 })
      expect(json.user).to.include({ email, isActive: true })
      expect((await explain(json.user.id)).out.split('\n')[0]).to.equal(first)
    })

    it('says that nobody has the address, and shows its refused logins', async () => {
      const email = 'nobody@explained.example'
      await wrongLogin(email)
      const out = await eventually('the refused login', async () => {
        const { out } = await explain(email)
        return /^refused: \S+Z unknown_address$/m.test(out) ? out : undefined
      })
      expect(out).to.match(/^Nobody has this address\./)
      expect(await explain('no address')).to.include({ code: 2, out: '' })
      expect(await explain(newId())).to.include({ code: 1, out: '' })
    })
  })
}
