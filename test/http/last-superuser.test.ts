import { expect } from 'chai'
import { refused, seen } from '../support/http/answers.ts'
import { call, logIn } from '../support/http/client.ts'
import { enrol } from '../support/scenes/enrol.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

const lastSuperuser = refused(400, 'LAST_SUPERUSER')

describe('the last active superuser', () => {
  let service: TestService
  let root: { id: string; bearer: string }

  async function superuser(name: string) {
    const email = `${name}@example.com`
    const [user] = await enrol({}, service.dataFolder, [email], { isSuperuser: true })
    if (user === undefined) throw new Error('no superuser was enrolled')
    return { id: user.id, bearer: await logIn(service.url, email) }
  }

  before(async () => {
    service = await startTestService({})
    root = await superuser('root')
  })
  after(() => service.stop())

  const patch = (id: string, json: unknown, bearer = root.bearer) =>
    call(service.url, 'PATCH', `/users/${id}`, { bearer, json })
  const remove = (id: string, bearer = root.bearer) => call(service.url, 'DELETE', `/users/${id}`, { bearer })

  it('cannot be demoted, deactivated or deleted', async () => {
    for (const json of [{ is_superuser: false }, { is_active: false }, { is_active: false, is_superuser: false }]) {
      expect(seen(await patch(root.id, json))).to.deep.equal(lastSuperuser)
    }
    expect(seen(await remove(root.id))).to.deep.equal(lastSuperuser)
    expect((await patch(root.id, { is_verified: true })).status).to.equal(200)
  })

  it('is one of two who demote and delete each other at once', async () => {
    for (const [round, act] of [
      (id: string, bearer: string) => patch(id, { is_superuser: false }, bearer),
      (id: string, bearer: string) => remove(id, bearer),
    ].entries()) {
      const other = await superuser(`other-${round}`)
      const answers = await Promise.all([act(other.id, root.bearer), act(root.id, other.bearer)])
      const won = answers.map(({ status }) => status < 300)
      expect(won.filter((one) => one)).to.have.length(1)
      const lost = answers.find(({ status }) => status >= 300)
      expect([400, 401, 403]).to.include(lost?.status, lost?.text)
      if (won[1]) root = other
    }
    expect((await call(service.url, 'GET', `/users/${root.id}`, { bearer: root.bearer })).status).to.equal(200)
  })
})
