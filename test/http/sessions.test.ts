import { expect } from 'chai'
import { eventually } from '../support/eventually.ts'
import { anAddress, empty, forbidden, notFound, refused, seen, unauthorized } from '../support/http/answers.ts'
import { call, goodPassword, logIn, logInByCookie, register, type Sent } from '../support/http/client.ts'
import { firstSuperuser } from '../support/scenes/first-superuser.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

interface Listed {
  readonly id: string
  readonly created_at: string
  readonly last_used_at: string
  readonly network: string | null
  readonly browser: string | null
  readonly system: string | null
  readonly is_current: boolean
}

const nobody = '01890000-0000-7000-8000-000000000000'
const unknownId = 'x'.repeat(43)
const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'

describe('the sessions of users', () => {
  let service: TestService
  let admin: string
  let late = 0

  before(async () => {
    const env = {
      PORTCULLIS_SECURITY__FRESH_LOGIN_SECONDS: '600',
      PORTCULLIS_HTTP__TRUSTED_PROXIES: '127.0.0.1,::1',
    }
    service = await startTestService(env, { clock: () => new Date(Date.now() + late) })
    admin = await firstSuperuser(service)
  })
  beforeEach(() => {
    late = 0
  })
  after(() => service.stop())

  const ask = (method: string, path: string, sent: Sent) => call(service.url, method, `/users/${path}`, sent)
  const list = async (sent: Sent, whose = 'me') => {
    const answer = await ask('GET', `${whose}/sessions`, sent)
    expect(answer.status).to.equal(200)
    return answer.body as Listed[] // safe: as described, or `call` throws
  }
  const end = (sent: Sent, id: string, whose = 'me') => ask('DELETE', `${whose}/sessions/${id}`, sent)
  const me = async (sent: Sent) => (await ask('GET', 'me', sent)).status
  async function currentOf(cookie: string): Promise<string> {
    const current = (await list({ cookie })).find((one) => one.is_current)
    return current?.id ?? 'none'
  }

  /** Somebody new with two sessions and a token. */
  async function aUser() {
    const user = await register(service.url, anAddress())
    const cookie = await logInByCookie(service.url, user.email)
    late += 1_000
    const other = await logInByCookie(service.url, user.email)
    return { user, cookie, other, bearer: await logIn(service.url, user.email) }
  }

  it('are listed with the client and times of the login, the newest first, without tokens', async () => {
    const { user, cookie } = await aUser()
    const [ofOther, ofFirst] = await list({ cookie })
    const headers = { 'User-Agent': firefox, 'X-Forwarded-For': '203.0.113.77' }
    late += 1_000
    const form = { username: user.email, password: goodPassword }
    await call(service.url, 'POST', '/auth/cookie/login', { form, headers })
    const listed = await list({ cookie })
    const [newest] = listed
    expect(listed.slice(1)).to.deep.equal([ofOther, ofFirst])
    expect(listed.map((one) => one.is_current)).to.deep.equal([false, false, true])
    expect(newest).to.deep.include({ network: '203.0.113.0/24', browser: 'Firefox', system: 'Linux' })
    expect(newest).to.deep.include({ methods: ['pwd'], level: 1 })
    expect(newest?.last_used_at).to.equal(newest?.created_at)
    expect(Math.abs(Date.parse(newest?.created_at ?? '') - Date.now() - late)).to.be.below(60_000)
    expect(JSON.stringify(listed)).not.to.contain(cookie.split('=')[1])
  })

  it('show a use after a quarter of an hour, and none after their idle limit', async () => {
    const { cookie, other } = await aUser()
    late += 20 * 60_000
    await me({ cookie })
    const used = async () => {
      const [first] = (await list({ cookie })).filter((one) => one.is_current)
      return Date.parse(first?.last_used_at ?? '') - Date.parse(first?.created_at ?? '')
    }
    await eventually('the use, which is recorded after the answer', async () => (await used()) > 19 * 60_000)
    late += 86_000_000
    expect(await me({ cookie: other })).to.equal(401)
    expect(await list({ cookie })).to.have.lengthOf(1)
  })

  it('have ids that are no credentials', async () => {
    const { cookie } = await aUser()
    for (const { id } of await list({ cookie })) {
      expect(await me({ cookie: `__Host-session=${id}` })).to.equal(401)
      expect(await me({ bearer: id })).to.equal(401)
    }
  })

  it('leave out tokens, which are not stored', async () => {
    const { bearer, cookie } = await aUser()
    const listed = await list({ bearer })
    expect(listed.map((one) => one.is_current)).to.deep.equal([false, false])
    expect(listed.map(({ id }) => id)).to.deep.equal((await list({ cookie })).map(({ id }) => id))
  })

  it('are gone from the list after a new password, except the one that set it', async () => {
    const { cookie } = await aUser()
    const json = { password: 'an even longer pass phrase', current_password: goodPassword }
    expect((await ask('PATCH', 'me', { cookie, json })).status).to.equal(200)
    expect((await list({ cookie })).map((one) => one.is_current)).to.deep.equal([true])
  })

  it('end one by one, without a fresh login', async () => {
    const { cookie, other, bearer } = await aUser()
    const id = await currentOf(other)
    late += 1_200_000
    const answer = await end({ bearer }, id)
    expect([seen(answer), answer.headers.getSetCookie()]).to.deep.equal([empty(204), []])
    expect(await me({ cookie: other })).to.equal(401)
    for (const sent of [{ cookie }, { bearer }]) expect(await me(sent)).to.equal(200)
    expect(seen(await end({ cookie }, id))).to.deep.equal(notFound)
    expect(await list({ cookie })).to.have.lengthOf(1)
  })

  it('end like a logout when it is the own one: the cookie goes, too', async () => {
    const { cookie, other } = await aUser()
    const answer = await end({ cookie }, await currentOf(cookie))
    expect(seen(answer)).to.deep.equal(empty(204))
    expect(answer.headers.getSetCookie().join()).to.match(/^__Host-session=; .*Max-Age=0/)
    expect(seen(await ask('GET', 'me', { cookie }))).to.deep.equal(unauthorized)
    expect(await me({ cookie: other })).to.equal(200)
  })

  it('have the same 404 for the session of another user, an unknown id and any other text', async () => {
    const { cookie } = await aUser()
    const stranger = await aUser()
    const theirs = await currentOf(stranger.cookie)
    const ids = [theirs, unknownId, 'x', nobody, '%00', '..%2F..', "'", 'x'.repeat(4000), encodeURIComponent('é🙂')]
    for (const id of ids) expect(seen(await end({ cookie }, id)), id).to.deep.equal(notFound)
    expect(await me({ cookie: stranger.cookie })).to.equal(200)
    const stolen = [`${stranger.user.id}/sessions/${theirs}`, `${stranger.user.id}/sessions`]
    for (const path of stolen) expect(seen(await ask('DELETE', path, { cookie }))).to.deep.equal(forbidden)
    expect(seen(await ask('GET', `${stranger.user.id}/sessions`, { cookie }))).to.deep.equal(forbidden)
  })

  describe('for superusers', () => {
    const byAdmin = {
      get bearer() {
        return admin
      },
    }

    it('are those of the named user, and end one by one or together', async () => {
      const { user, cookie, other, bearer } = await aUser()
      const listed = await list(byAdmin, user.id)
      expect(listed.map((one) => one.is_current)).to.deep.equal([false, false])
      const stranger = await aUser()
      const theirs = await currentOf(stranger.cookie)
      for (const id of [theirs, unknownId, 'x']) expect(seen(await end(byAdmin, id, user.id))).to.deep.equal(notFound)

      expect(seen(await end(byAdmin, await currentOf(other), user.id))).to.deep.equal(empty(204))
      expect(await me({ cookie: other })).to.equal(401)
      for (const sent of [{ cookie }, { bearer }]) expect(await me(sent)).to.equal(200)

      expect(seen(await ask('DELETE', `${user.id}/sessions`, byAdmin))).to.deep.equal(empty(204))
      for (const sent of [{ cookie }, { bearer }]) expect(await me(sent)).to.equal(401)
      for (const sent of [byAdmin, { cookie: stranger.cookie }]) expect(await me(sent)).to.equal(200)
      const { changes } = await service.event(
        ({ event, user: { id } }) => event === 'on_after_update' && id === user.id,
      )
      expect(changes).to.deep.equal({ logged_out_everywhere: true })
    })

    it('have a 404 for an unknown user', async () => {
      for (const whom of [nobody, 'x']) {
        for (const [method, path] of [
          ['GET', ''],
          ['DELETE', ''],
          ['DELETE', `/${unknownId}`],
        ] as const) {
          expect(seen(await ask(method, `${whom}/sessions${path}`, byAdmin))).to.deep.equal(notFound)
        }
      }
    })

    it('end only by a fresh login, and are listed by any', async () => {
      const { user, cookie } = await aUser()
      const id = await currentOf(cookie)
      late = 1_200_000
      const tooOld = refused(403, 'FRESH_LOGIN_REQUIRED')
      expect(seen(await end(byAdmin, id, user.id))).to.deep.equal(tooOld)
      expect(seen(await ask('DELETE', `${user.id}/sessions`, byAdmin))).to.deep.equal(tooOld)
      expect(await list(byAdmin, user.id)).to.have.lengthOf(2)
      expect(await me({ cookie })).to.equal(200)
    })
  })
})
