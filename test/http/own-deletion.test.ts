import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { scratchModule } from '../adapters/events/scratch-module.ts'
import { eventually } from '../support/eventually.ts'
import {
  anAddress,
  cookiesOf,
  empty,
  forbidden,
  notFound,
  refused,
  seen,
  unauthorized,
} from '../support/http/answers.ts'
import { type Answer, call, goodPassword, logIn, logInByCookie, register, type Sent } from '../support/http/client.ts'
import { enrol } from '../support/scenes/enrol.ts'
import { firstSuperuser } from '../support/scenes/first-superuser.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

const on = { PORTCULLIS_USERS__SELF_DELETION: 'true' }
const tooOld = refused(403, 'FRESH_LOGIN_REQUIRED')

describe('DELETE /users/me', () => {
  const module = scratchModule(`
    export function on_before_delete(user) {
      if (user.email.startsWith('debtor')) throw Object.assign(new Error(), { reason: 'An invoice is open' })
    }
    export const on_after_delete = ({ id }, { by }) => note({ id, by })`)
  let service: TestService
  let late = 0
  before(async () => {
    const handlers = { PORTCULLIS_HANDLERS__MODULE: fileURLToPath(module.url), PORTCULLIS_HANDLERS__CONSOLE: 'true' }
    const mail = { PORTCULLIS_MAIL__URL: 'mailbox:' }
    service = await startTestService({ ...on, ...handlers, ...mail }, { clock: () => new Date(Date.now() + late) })
  })
  afterEach(() => {
    late = 0
  })
  after(async () => {
    await service?.stop()
    module.remove()
  })

  const deleteMe = (sent: Sent, url = service.url) => call(url, 'DELETE', '/users/me', sent)
  const me = async (sent: Sent) => (await call(service.url, 'GET', '/users/me', sent)).status

  it('deletes the account of the user with all its logins, and removes our cookies', async () => {
    const email = anAddress()
    const { id } = await register(service.url, email)
    const bearer = await logIn(service.url, email)
    const cookie = await logInByCookie(service.url, email)
    const answer = await deleteMe({ cookie, headers: { Origin: service.url } })
    expect(seen(answer)).to.deep.equal(empty(204))
    expect(cookiesOf(answer)).to.deep.equal(['__Host-session', '__Host-device'])
    for (const line of answer.headers.getSetCookie()) expect(line).to.match(/^[\w-]+=; Path=\/; Max-Age=0; /)
    for (const sent of [{ cookie }, { bearer }]) expect(await me(sent)).to.equal(401)
    expect(seen(await deleteMe({ bearer })), 'again').to.deep.equal(unauthorized)
    const notes = () => module.notes() as { id: string; by: { type: string; id: string } }[] // safe: as the module writes them
    const { by } = await eventually('its deletion', () => notes().find((one) => one.id === id))
    expect(by).to.include({ type: 'user', id })
    expect((await register(service.url, email)).id, 'the address is free').to.not.equal(id)
  })

  it('leaves the cookies of a browser whose credential it did not get', async () => {
    const email = anAddress()
    await register(service.url, email)
    expect(cookiesOf(await deleteMe({ bearer: await logIn(service.url, email) }))).to.deep.equal(['__Host-device'])
  })

  it('keeps what the browser knows of other accounts', async () => {
    const device = ({ headers }: Answer) => /^__Host-device=[^;]*/.exec(headers.getSetCookie().at(-1) ?? '')?.[0] ?? ''
    const signIn = async (cookie: string) => {
      const { email } = await register(service.url, anAddress())
      const form = { username: email, password: goodPassword }
      return device(await call(service.url, 'POST', '/auth/jwt/login', { form, cookie }))
    }
    const first = await signIn('')
    const { email } = await register(service.url, anAddress())
    const form = { username: email, password: goodPassword }
    const login = await call(service.url, 'POST', '/auth/jwt/login', { form, cookie: first })
    const { access_token: bearer } = login.body as { access_token: string } // safe: its use proves it
    expect(device(login)).to.match(/~/)
    expect(device(await deleteMe({ bearer, cookie: device(login) }))).to.equal(first)
  })

  it('demands a login of the last 900 seconds, and nothing is deleted without one', async () => {
    const email = anAddress()
    await register(service.url, email)
    const old = [{ bearer: await logIn(service.url, email) }, { cookie: await logInByCookie(service.url, email) }]
    late = 901_000
    for (const sent of old) expect(seen(await deleteMe(sent))).to.deep.equal(tooOld)
    for (const sent of old) expect(await me(sent)).to.equal(200)
    late = 890_000
    expect((await deleteMe({ ...old[0] })).status).to.equal(204)
  })

  it('takes the age of a fresh login from the settings, be it shorter or longer', async () => {
    for (const [seconds, age, status] of [
      ['60', 61, 403],
      ['3600', 901, 204],
    ] as const) {
      let later = 0
      const env = { ...on, PORTCULLIS_SECURITY__FRESH_LOGIN_SECONDS: seconds, PORTCULLIS_STORES__USERS__KIND: 'memory' }
      const other = await startTestService(env, { clock: () => new Date(Date.now() + later) })
      try {
        await register(other.url, 'a@example.com')
        const bearer = await logIn(other.url, 'a@example.com')
        later = age * 1000
        expect((await deleteMe({ bearer }, other.url)).status, seconds).to.equal(status)
      } finally {
        await other.stop()
      }
    }
  })

  it('is refused by on_before_delete, in the words of the handler', async () => {
    const email = anAddress('debtor')
    await register(service.url, email)
    const bearer = await logIn(service.url, email)
    const detail = { code: 'DELETE_USER_REFUSED', reason: 'An invoice is open', rule: 'custom' }
    expect(seen(await deleteMe({ bearer }))).to.deep.equal(refused(400, detail))
    expect(await me({ bearer })).to.equal(200)
  })

  it('keeps the last active superuser', async () => {
    const bearer = await firstSuperuser(service)
    expect(seen(await deleteMe({ bearer }))).to.deep.equal(refused(400, 'LAST_SUPERUSER'))
    expect(await me({ bearer })).to.equal(200)
  })

  it('refuses a page of another origin that has the cookie sent', async () => {
    const email = anAddress()
    await register(service.url, email)
    const cookie = await logInByCookie(service.url, email)
    for (const headers of [{ Origin: 'https://evil.example' }, { 'Sec-Fetch-Site': 'cross-site' }]) {
      expect(seen(await deleteMe({ cookie, headers }))).to.deep.equal(forbidden)
    }
    expect(await me({ cookie })).to.equal(200)
  })

  it('tells a verified address in the language of the request, and nobody about other deletions', async () => {
    const [verified, unverified, removed] = [anAddress(), anAddress(), anAddress()]
    const [, { id } = { id: '' }] = await enrol({}, service.dataFolder, [verified, removed], { isVerified: true })
    await enrol({}, service.dataFolder, [unverified])
    const superuser = await logIn(service.url, 'first.superuser@example.com')
    expect((await call(service.url, 'DELETE', `/users/${id}`, { bearer: superuser })).status).to.equal(204)
    for (const email of [unverified, verified]) {
      const bearer = await logIn(service.url, email)
      expect((await deleteMe({ bearer, headers: { 'Accept-Language': 'de' } })).status).to.equal(204)
    }
    const mails = async () => await (await fetch(service.mailboxUrl ?? '')).text()
    await eventually('the message', async () =>
      new RegExp(`Ihr Konto ${verified} bei \\w+ wurde gelöscht`).test(await mails()),
    )
    const idle = () => service.events.filter(({ event }) => event === 'on_after_delete').length
    await eventually('every deletion to be delivered', () => idle() >= 3)
    for (const email of [unverified, removed]) expect(await mails()).to.not.include(email)
  })

  it('is a superuser’s route for an unknown user while the setting is off', async () => {
    const off = await startTestService()
    try {
      await register(off.url, 'a@example.com')
      const bearer = await logIn(off.url, 'a@example.com')
      expect(seen(await deleteMe({}, off.url))).to.deep.equal(unauthorized)
      expect(seen(await deleteMe({ bearer }, off.url))).to.deep.equal(forbidden)
      expect(seen(await deleteMe({ bearer: await firstSuperuser(off) }, off.url))).to.deep.equal(notFound)
      expect(await (await fetch(`${off.url}/openapi.json`)).text()).to.not.include('delete_current_user')
      expect((await call(off.url, 'GET', '/account/delete')).status).to.equal(404)
      expect((await call(off.url, 'GET', '/users/me', { bearer })).status).to.equal(200)
    } finally {
      await off.stop()
    }
  })
})
