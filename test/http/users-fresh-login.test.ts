import { expect } from 'chai'
import { anAddress, notFound, refused, seen } from '../support/http/answers.ts'
import { call, goodPassword, logIn, logInByCookie, register, type Sent } from '../support/http/client.ts'
import { firstSuperuser } from '../support/scenes/first-superuser.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

const newPassword = 'an even longer pass phrase'
const nobody = '01890000-0000-7000-8000-000000000000'
const tooOld = refused(403, 'FRESH_LOGIN_REQUIRED')

describe('the Users router, with security.freshLoginSeconds', () => {
  let service: TestService
  let late = 0
  before(async () => {
    const env = { PORTCULLIS_SECURITY__FRESH_LOGIN_SECONDS: '60' }
    service = await startTestService(env, { clock: () => new Date(Date.now() + late) })
  })
  after(() => service.stop())

  it('refuses a new address or password with an old login and without the current password', async () => {
    const user = await register(service.url, anAddress())
    const old = [
      { bearer: await logIn(service.url, user.email) },
      { cookie: await logInByCookie(service.url, user.email) },
    ]
    const patchMe = (sent: Sent, json: object) => call(service.url, 'PATCH', '/users/me', { ...sent, json })
    late = 61_000
    for (const sent of old) {
      for (const json of [{ password: newPassword }, { email: anAddress() }, { password: 'short' }]) {
        expect(seen(await patchMe(sent, json))).to.deep.equal(tooOld)
      }
      expect((await patchMe(sent, { email: 'x' })).status).to.equal(422)
      for (const json of [{}, { email: null }, { is_active: false }]) {
        expect(seen(await patchMe(sent, json))).to.deep.equal({ status: 200, body: user })
      }
    }
    const fresh = { bearer: await logIn(service.url, user.email) }
    expect((await patchMe(fresh, { email: user.email.toUpperCase() })).status).to.equal(200)
    const right = { password: newPassword, current_password: goodPassword }
    expect((await patchMe({ ...old[0] }, right)).status).to.equal(200)
  })

  it('demands a recent login for every write of a superuser, unless a PATCH has the current password', async () => {
    late = 0
    const bearer = await firstSuperuser(service)
    const { id } = (await call(service.url, 'GET', '/users/me', { bearer })).body as { id: string }
    const other = await register(service.url, anAddress())
    const patch = (whom: string, json: object) => call(service.url, 'PATCH', `/users/${whom}`, { bearer, json })
    const remove = (whom: string) => call(service.url, 'DELETE', `/users/${whom}`, { bearer })
    late = 61_000
    for (const whom of [id, other.id]) {
      for (const json of [{ password: newPassword }, { email: anAddress() }, { is_superuser: true }, {}]) {
        expect(seen(await patch(whom, json)), JSON.stringify(json)).to.deep.equal(tooOld)
      }
      expect(seen(await remove(whom))).to.deep.equal(tooOld)
      const wrong = await patch(whom, { email: anAddress(), current_password: newPassword })
      expect(seen(wrong)).to.deep.equal(refused(400, 'UPDATE_USER_BAD_CURRENT_PASSWORD'))
      expect((await patch(whom, { email: anAddress(), current_password: goodPassword })).status).to.equal(200)
    }
    expect((await call(service.url, 'GET', `/users/${other.id}`, { bearer })).status, 'reading is free').to.equal(200)
    expect(seen(await remove(nobody)), 'an unknown user').to.deep.equal(notFound)
    late = 0
    expect((await patch(id, { email: anAddress() })).status).to.equal(200)
    expect((await remove(other.id)).status).to.equal(204)
  })
})
