import { expect } from 'chai'
import { oneProcess, siteOf, twoProcesses } from './races/site.ts'
import { notFound, seen } from './support/http/answers.ts'
import { call, logInByCookie } from './support/http/client.ts'
import { addApp } from './support/scenes/factors.ts'
import { inMemory, onMongo, onPostgres, onSqlite, onSqliteAndRedis } from './support/services/deployments.ts'

interface Listed {
  readonly id: string
  readonly is_current: boolean
  readonly level: number
}

for (const { deployment, start } of [
  { deployment: inMemory, start: oneProcess },
  { deployment: onSqlite, start: twoProcesses },
  { deployment: onMongo, start: twoProcesses },
  { deployment: onPostgres, start: twoProcesses },
  { deployment: onSqliteAndRedis, start: twoProcesses },
]) {
  describe(`sessions that people end or raise, on ${deployment.name}${start === twoProcesses ? ' and two processes' : ''}`, () => {
    const site = siteOf(deployment, start)

    const list = async (process: number, cookie: string) => {
      const { body } = await call(site().url(process), 'GET', '/users/me/sessions', { cookie })
      return body as Listed[] // safe: as described, or `call` throws
    }
    const end = async (process: number, cookie: string, id: string) =>
      seen(await call(site().url(process), 'DELETE', `/users/me/sessions/${id}`, { cookie }))
    const status = async (process: number, cookie: string) =>
      (await call(site().url(process), 'GET', '/users/me', { cookie })).status

    it('are gone at once on the other process', async () => {
      const { email } = await site().person()
      const stays = await logInByCookie(site().url(0), email)
      for (let round = 0; round < 8; round++) {
        const [one, other] = [round % 2, (round + 1) % 2]
        const goes = await logInByCookie(site().url(other), email)
        expect(await status(other, goes)).to.equal(200)
        const listed = await list(one, stays)
        expect(listed.map((session) => session.is_current)).to.deep.equal([false, true])
        const id = listed[0]?.id ?? ''
        expect((await end(one, stays, id)).status).to.equal(204)
        expect(await status(other, goes)).to.equal(401)
        expect(await list(other, stays)).to.deep.equal(listed.slice(1))
        expect(await end(other, stays, id)).to.deep.equal(notFound)
      }
    })

    it('have another token since the first second factor: copies of the former one end on the other process, too', async () => {
      const { email } = await site().person()
      const cookie = await logInByCookie(site().url(0), email)
      expect(await status(1, cookie)).to.equal(200)
      const { login } = await addApp(site().url(0), { cookie }, () => new Date())
      for (const process of [0, 1]) {
        expect(await status(process, cookie)).to.equal(401)
        const listed = await list(process, login.cookie ?? '')
        expect(listed.map(({ is_current, level }) => ({ is_current, level }))).to.deep.equal([
          { is_current: true, level: 2 },
        ])
      }
    })
  })
}
