import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { eventually } from '../support/eventually.ts'
import { call, goodPassword, logIn, logInByCookie, register } from '../support/http/client.ts'
import { portcullis } from '../support/process/command-line.ts'
import { enrol } from '../support/scenes/enrol.ts'
import {
  needsDeployment,
  onMongo,
  onMongoAndRedis,
  onSqlite,
  onSqliteAndRedis,
} from '../support/services/deployments.ts'
import { goodSecret } from '../support/services/settings.ts'
import { type SpawnedService, scratchFolder, spawnService } from '../support/services/spawned-service.ts'

const none = { code: 1, out: '', err: 'portcullis: there is no such user\n' }

for (const deployment of [onSqlite, onMongo, onSqliteAndRedis, onMongoAndRedis]) {
  describe(`portcullis user, beside a service on ${deployment.name}`, () => {
    const page = 'https://app.example.com/reset'
    const folder = scratchFolder()
    let env: Record<string, string>
    let service: SpawnedService

    before(async function () {
      await needsDeployment(this, deployment)
      env = { ...(await deployment.settings()), PORTCULLIS_MAIL__LINKS__RESET: page }
      service = await spawnService(env, folder)
    })
    after(async () => {
      await service?.end('SIGTERM')
      if (env !== undefined) await deployment.remove(env)
    })

    const user = (...args: string[]) => portcullis(['user', ...args], { cwd: folder, env })
    const told = (event: string, id: string) =>
      eventually(`${event} of ${id}`, () => service.events.find((one) => one.event === event && one.user.id === id))
    const statusOf = async (bearer: string) => (await call(service.url, 'GET', '/users/me', { bearer })).status
    const logsIn = async (username: string, password: string) =>
      (await call(service.url, 'POST', '/auth/jwt/login', { form: { username, password } })).status

    it('shows a user by address in any case, and by id', async () => {
      const { id } = await register(service.url, 'Ada@example.com')
      const { code, out, err } = await user('show', 'aDa@EXAMPLE.com')
      expect([code, err]).to.deep.equal([0, ''])
      const created = /^created: (\d{4}-\S+Z)$/m.exec(out)?.[1]
      expect(out.split('\n')).to.deep.equal([
        `id: ${id}`,
        'email: Ada@example.com',
        'active: yes',
        'verified: no',
        'superuser: no',
        'password: yes',
        `created: ${created}`,
        '',
      ])
      expect(await user('show', id.toUpperCase())).to.deep.equal({ code, out, err })
      expect(await user('show', 'nobody@example.com')).to.deep.equal(none)
    })

    it('lists users in pages, and finds them by a part of the address', async () => {
      const people: string[] = []
      for (const name of ['List.One', 'list.two', 'list.three']) {
        people.push((await register(service.url, `${name}@people.example`)).id)
      }
      const found = await user('list', '--search', 'PEOPLE.example')
      expect([found.code, found.err]).to.deep.equal([0, ''])
      const rows = found.out.split('\n').map((line) => line.split('\t'))
      expect(rows.map(([id = '']) => id)).to.deep.equal([...people, ''])
      expect(rows[0]?.slice(1, 3)).to.deep.equal(['List.One@people.example', 'active,unverified'])

      const listed: string[] = []
      for (let after: string[] = []; ; ) {
        const { out, err } = await user('list', '--limit', '2', ...after)
        listed.push(...out.split('\n').filter((line) => line !== ''))
        const next = /^There are more: --after (\S+)\n$/.exec(err)?.[1]
        if (next === undefined) break
        after = ['--after', next]
      }
      const all = (await user('list')).out.split('\n').slice(0, -1)
      expect(all.length).to.be.at.least(people.length)
      expect(listed).to.deep.equal(all)
      // A part with the accent as a character of its own, as file names of macOS have it.
      await register(service.url, 'zo\u00eb@people.example')
      expect((await user('list', '--search', 'zoe\u0308')).out).to.include('zo\u00eb@people.example')
      expect((await user('list', '--search', 'nobody')).err).to.equal('There are no such users\n')
    })

    it('disables a user at once, with the same event as PATCH, and enables the user again', async () => {
      const email = 'grace@example.com'
      const { id } = await register(service.url, email)
      const bearer = await logIn(service.url, email)
      const cookie = await logInByCookie(service.url, email)
      expect(await statusOf(bearer)).to.equal(200)
      expect(await user('disable', email)).to.deep.equal({
        code: 0,
        out: '',
        err: `${email} is disabled now (${id})\n`,
      })
      expect(await statusOf(bearer)).to.equal(401)
      expect((await call(service.url, 'GET', '/users/me', { cookie })).status).to.equal(401)
      expect(await logsIn(email, goodPassword)).to.equal(400)
      expect((await told('on_after_update', id)).changes).to.deep.equal({ is_active: false })

      expect(await user('enable', id)).to.deep.equal({ code: 0, out: '', err: `${email} is active now (${id})\n` })
      expect(await statusOf(bearer)).to.equal(401)
      expect(await logsIn(email, goodPassword)).to.equal(200)
    })

    it('keeps the last active superuser, unless it is forced', async () => {
      const email = 'root@example.com'
      const [root] = await enrol(env, join(folder, 'data'), [email], { isSuperuser: true })
      for (const command of ['disable', 'delete']) {
        const { code, out, err } = await user(command, email)
        expect([code, out]).to.deep.equal([1, ''])
        expect(err).to.include('is the last active superuser').and.to.include('--force')
      }
      expect(await user('disable', email, '--force')).to.include({ code: 0 })
      expect(await user('enable', email)).to.include({ code: 0 })
      expect(await user('delete', email, '--force')).to.include({ code: 0, err: `deleted ${email} (${root?.id})\n` })
    })

    it('prints a reset link that works once, and stays the same until it is used', async () => {
      const email = 'forgetful@example.com'
      await register(service.url, email)
      const { code, out, err } = await user('reset-link', email)
      expect(code).to.equal(0)
      const token = out.startsWith(`${page}#token=`) ? out.trim().slice(page.length + 7) : expect.fail(out)
      const until = Date.parse(/^Works once, until (\S+)\./.exec(err)?.[1] ?? '')
      expect(until).to.be.within(Date.now() + 10 * 60_000, Date.now() + 3600_000)
      expect(await user('reset-link', email)).to.deep.equal({ code, out, err })

      const password = 'another fine pass phrase'
      const reset = async () =>
        (await call(service.url, 'POST', '/auth/reset-password', { json: { token, password } })).status
      expect([await reset(), await reset()]).to.deep.equal([200, 400])
      expect(await logsIn(email, password)).to.equal(200)
      expect((await user('reset-link', email)).out).to.not.equal(out)

      await user('disable', email)
      const refused = await user('reset-link', email)
      expect([refused.code, refused.out]).to.deep.equal([1, ''])
      expect(refused.err).to.include('is disabled')
    })

    it('deletes a user with all sessions, and frees the address', async () => {
      const email = 'leaving@example.com'
      const { id } = await register(service.url, email)
      const bearer = await logIn(service.url, email)
      expect(await user('delete', email)).to.deep.equal({ code: 0, out: '', err: `deleted ${email} (${id})\n` })
      expect(await statusOf(bearer)).to.equal(401)
      await told('on_after_delete', id)
      for (const command of ['show', 'delete', 'disable', 'reset-link']) {
        expect(await user(command, email)).to.deep.equal(none)
      }
      expect((await register(service.url, email)).id).to.not.equal(id)
    })
  })
}

describe('portcullis user', () => {
  it('takes an address or an id', async () => {
    const { code, out, err } = await portcullis(['user', 'show', 'somebody'])
    expect([code, out]).to.deep.equal([2, ''])
    expect(err).to.match(/^portcullis: give the address or the id of a user\. .*@-sign/)
    expect((await portcullis(['user', 'list', '--after', 'ada@example.com'])).code).to.equal(2)
  })

  it('prints no reset link that no route would take, and says when its address is a guess', async () => {
    const folder = scratchFolder()
    const service = await spawnService({}, folder)
    const { id } = await register(service.url, 'forgetful@example.com')
    await service.end('SIGTERM')
    // A link to another machine than that of the user is of no use.
    const guessed = await portcullis(['user', 'reset-link', id], { cwd: folder })
    expect(guessed.err).to.match(
      /^portcullis: http\.publicUrl is not set, so the link leads to http:\/\/localhost:3000\nWorks/,
    )
    const given = { PORTCULLIS_HTTP__PUBLIC_URL: 'http://localhost:3000' }
    expect((await portcullis(['user', 'reset-link', id], { cwd: folder, env: given })).err).to.match(/^Works/)
    const env = { PORTCULLIS_ROUTERS__RESET_PASSWORD__ENABLED: 'false' }
    const { code, out, err } = await portcullis(['user', 'reset-link', id], { cwd: folder, env })
    expect([code, out]).to.deep.equal([2, ''])
    expect(err).to.match(/routers\.resetPassword\.enabled.* is off: no route/)
  })

  it('asks the handler that may object to a deletion', async () => {
    const folder = scratchFolder()
    const module = join(folder, 'handlers.mjs')
    writeFileSync(
      module,
      `export const on_before_delete = () => {
        throw Object.assign(new Error(), { reason: 'an invoice is open' })
      }
      export const on_after_delte = () => undefined`,
    )
    const service = await spawnService({}, folder)
    const { id } = await register(service.url, 'owing@example.com')
    await service.end('SIGTERM')
    const env = { PORTCULLIS_HANDLERS__MODULE: module }
    const { code, out, err } = await portcullis(['user', 'delete', 'owing@example.com'], { cwd: folder, env })
    expect([code, out]).to.deep.equal([1, ''])
    expect(err).to.include('an invoice is open')
    expect(err).to.include(`${module}: the handler module exports a name that is not a handler: on_after_delte`)
    expect((await portcullis(['user', 'show', id], { cwd: folder })).code).to.equal(0)
  })

  it('finds only users of the tenant, and links to its page', async () => {
    const folder = scratchFolder()
    const settings = {
      tenants: { by: 'path', list: { acme: {}, bolt: {} } },
      http: { publicUrl: 'http://localhost:3000' },
    }
    writeFileSync(join(folder, 'portcullis.config.json'), JSON.stringify(settings))
    const env = { PORTCULLIS_SECRET: goodSecret }
    const service = await spawnService(env, folder)
    const [acme, bolt] = [`${service.url}/t/acme`, `${service.url}/t/bolt`]
    await register(acme, 'ada@example.com')
    const user = (...args: string[]) => portcullis(['user', ...args], { cwd: folder, env })
    expect(await user('--tenant', 'bolt', 'show', 'ada@example.com')).to.deep.equal(none)
    const { out } = await user('--tenant', 'acme', 'reset-link', 'ada@example.com')
    const [link, token] = out.trim().split('#token=')
    expect(link).to.equal('http://localhost:3000/t/acme/account/reset')
    const json = { token, password: 'another fine pass phrase' }
    expect((await call(bolt, 'POST', '/auth/reset-password', { json })).status).to.equal(400)
    expect((await call(acme, 'POST', '/auth/reset-password', { json })).status).to.equal(200)
    expect((await user('show', 'ada@example.com')).err).to.include('name a tenant: acme, bolt')
    await service.end('SIGTERM')
  })
})
