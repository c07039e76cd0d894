import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { eventually } from '../support/eventually.ts'
import { call, goodPassword, logIn, logInByCookie, register } from '../support/http/client.ts'
import { portcullis } from '../support/process/command-line.ts'
import { enrol } from '../support/scenes/enrol.ts'
import { enrolled } from '../support/scenes/factors.ts'
import { needsDeployment, onMongoAndRedis, onSqlite } from '../support/services/deployments.ts'
import { goodSecret } from '../support/services/settings.ts'
import { type SpawnedService, scratchFolder, spawnService } from '../support/services/spawned-service.ts'

const done = (text: string) => ({ code: 0, out: `${text}\n`, err: '' })
const none = {
  code: 1,
  out: '',
  err: 'portcullis: there is no such user: user list --search finds people by a part of the address or of a unique field\n',
}

/** All stores fulfil the same contracts; these two have all kinds of places. */
for (const deployment of [onSqlite, onMongoAndRedis]) {
  describe(`portcullis user, beside a service on ${deployment.name}`, () => {
    const page = 'https://app.example.com/reset'
    const folder = scratchFolder()
    let env: Record<string, string>
    let service: SpawnedService

    before(async function () {
      await needsDeployment(this, deployment)
      env = {
        ...(await deployment.settings()),
        PORTCULLIS_MAIL__LINKS__RESET: page,
        PORTCULLIS_ROUTERS__FACTORS__ENABLED: 'true',
        PORTCULLIS_USERS__REPORTS_LOOKUPS: 'true',
      }
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
        'last login: never',
        'sessions: none is stored',
        'limits: none is used',
        '',
      ])
      expect(await user('show', id.toUpperCase())).to.deep.equal({ code, out, err })
      expect(await user('show', 'nobody@example.com')).to.deep.equal(none)
      for (const other of ['explain', 'sessions', 'export']) await user(other, 'ada@example.com')
      const lookups = () => service.events.filter((one) => one.event === 'on_after_lookup' && one.user.id === id)
      await eventually('the look-ups', () => lookups().length === 5)
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
      expect(await user('disable', email)).to.deep.equal(done(`${email} is disabled now (${id})`))
      const again = `${email} was disabled already: nothing changed (${id})`
      expect(await user('disable', email)).to.deep.equal(done(again))
      expect(await statusOf(bearer)).to.equal(401)
      expect((await call(service.url, 'GET', '/users/me', { cookie })).status).to.equal(401)
      expect(await logsIn(email, goodPassword)).to.equal(400)
      expect((await told('on_after_update', id)).changes).to.deep.equal({ is_active: false })

      expect(await user('enable', id)).to.deep.equal(done(`${email} is active now (${id})`))
      expect(await statusOf(bearer)).to.equal(401)
      expect(await logsIn(email, goodPassword)).to.equal(200)
    })

    it('disables a user until a time, and says why', async () => {
      const email = 'paused@example.com'
      const { id } = await register(service.url, email)
      const until = '2090-01-31T12:00:00.000Z'
      const disable = (...more: string[]) => user('disable', email, ...more)
      for (const [more, words] of [
        [
          ['--until', '2020-01-01T12:00:00Z'],
          '--until is not in the future, or not before the year 10000. It takes a time such as',
        ],
        ...['tomorrow', '45', '2030-02-30T12:00:00Z', '2030-01-31T12:00:00', '2030-01-31'].map(
          (time) => [['--until', time], '--until takes a time with its zone, such as 2030-01-31T12:00:00Z'] as const,
        ),
        [['--reason', 'x'.repeat(501)], '--reason has more than 500 characters'],
      ] as const) {
        const { code, out, err } = await disable(...more)
        expect([code, out]).to.deep.equal([2, ''])
        expect(err).to.include(words)
      }
      expect(await logsIn(email, goodPassword)).to.equal(200)
      const given = ['--until', until, '--reason', 'spam \u001b[31m']
      expect(await disable(...given)).to.deep.equal(done(`${email} is disabled until ${until} now (${id})`))
      expect(await disable(...given)).to.deep.equal(
        done(
          `${email} was disabled until ${until} already: nothing changed. With --reason and without --until, it has no end (${id})`,
        ),
      )
      expect(await logsIn(email, goodPassword)).to.equal(400)
      const { out } = await user('show', email)
      expect(out).to.include(`active: no\ninactive until: ${until}\nreason: "spam \\u001b[31m"\n`)
      expect((await user('explain', email)).out).to.include('(spam \\u001b[31m)')
      expect(JSON.parse((await user('show', email, '--json')).out)).to.include({
        inactiveUntil: until,
        inactiveReason: 'spam \u001b[31m',
      })
      const { changes } = await told('on_after_update', id)
      expect(changes).to.deep.equal({ is_active: false, inactive_until: until, inactive_reason: 'spam \u001b[31m' })
      expect(await user('enable', email)).to.deep.equal(done(`${email} is active now (${id})`))
      expect((await user('show', email)).out).to.not.include('inactive until')
    })

    it('keeps the last active superuser, unless it is forced', async () => {
      const email = 'root@example.com'
      const [root] = await enrol(env, join(folder, 'data'), [email], { isSuperuser: true })
      const demote = () => portcullis(['superuser', 'demote', email], { cwd: folder, env })
      for (const refused of [() => user('disable', email), () => user('delete', email, '--yes'), demote]) {
        const { code, out, err } = await refused()
        expect([code, out]).to.deep.equal([1, ''])
        expect(err).to.include('is the last active superuser').and.to.include('--force')
      }
      expect(await user('delete', email, '--force', '--yes')).to.deep.equal(done(`deleted ${email} (${root?.id})`))
    })

    it('shows the stored sessions and the wrong passwords of a user, and ends every login with the event of DELETE', async () => {
      const email = 'lost.phone@example.com'
      const { id } = await register(service.url, email)
      const bearer = await logIn(service.url, email)
      const cookie = await logInByCookie(service.url, email)
      expect([await logsIn(email, 'wrong'), await logsIn(email, 'wrong again')]).to.deep.equal([400, 400])
      const shown = JSON.parse((await user('show', email, '--json')).out)
      const [session] = shown.sessions
      expect(shown.sessions).to.have.length(1)
      expect(Date.parse(session.createdAt) - Date.parse(shown.lastLoginAt), 'the last login').to.be.within(0, 500)
      expect(session).to.have.all.keys('id', 'createdAt', 'usedAt', 'network', 'browser', 'system')
      const [{ until, ...counter }] = shown.limits
      expect(counter).to.deep.equal({
        limit: 'passwordsPerAccount',
        of: 'strangers',
        purpose: null,
        points: 2,
        most: 100,
        isReached: false,
      })
      expect(Date.parse(until)).to.be.within(Date.now() + 3000_000, Date.now() + 3600_000)

      expect(await user('end-sessions', id)).to.deep.equal(done(`ended all logins of ${email} (${id})`))
      expect(await statusOf(bearer)).to.equal(401)
      expect((await call(service.url, 'GET', '/users/me', { cookie })).status).to.equal(401)
      expect((await told('on_after_update', id)).changes).to.deep.equal({ logged_out_everywhere: true })
      const left = { code: 0, out: '', err: 'There are no stored sessions. JWTs are not stored\n' }
      expect(await user('sessions', id)).to.deep.equal(left)
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

    it('creates users with a password, and invites others to choose one', async () => {
      const made = await portcullis(['user', 'create', 'made@example.com', '--password-stdin', '--verified'], {
        cwd: folder,
        env,
        input: `${goodPassword}\n`,
      })
      expect([made.code, made.err]).to.deep.equal([0, ''])
      expect(made.out).to.match(/^created made@example\.com \(\S+\)\n$/)
      expect(await logsIn('made@example.com', goodPassword)).to.equal(200)

      const email = 'invited@example.com'
      const { code, out, err } = await user('create', email, '--invite', '--json')
      const { id, ...invited } = JSON.parse(out)
      expect([code, err]).to.deep.equal([
        0,
        'The running service or worker sends the link, which works for seven days\n',
      ])
      expect(invited).to.deep.include({ email, isVerified: false, hasPassword: false })
      const { token } = await told('on_after_invite', id)
      const again = await user('invite', email)
      expect([again.code, again.out]).to.deep.equal([0, `invited ${email} (${id})\n`])
      await eventually('two invitations', () => {
        return service.events.filter((one) => one.event === 'on_after_invite' && one.user.id === id).length === 2
      })
      const json = { token, password: goodPassword }
      expect((await call(service.url, 'POST', '/auth/reset-password', { json })).status).to.equal(200)
      expect(await logsIn(email, goodPassword)).to.equal(200)

      const refused = await user('invite', email)
      expect([refused.code, refused.out]).to.deep.equal([1, ''])
      expect(refused.err).to.include('this user has a password or is disabled')
      const taken = await user('create', email, '--invite')
      expect([taken.code, taken.err]).to.deep.equal([1, 'portcullis: this address has an account already\n'])
      for (const wrong of [
        ['nobody', '--invite'],
        ['a@example.com', '--invite', '--password-stdin'],
        ['x!y@example.com', '--invite'],
      ]) {
        const { code, out } = await user('create', ...wrong)
        expect([code, out]).to.deep.equal([2, ''])
      }
    })

    it('removes the second factors of a user who has lost them', async () => {
      const { email } = await enrolled(service.url, 'lost@example.com', () => new Date())
      expect((await user('show', email)).out).to.match(
        /^second factor: authenticator app since \S+Z\nrecovery codes: 10$/m,
      )
      const unasked = await user('factors', 'reset', email)
      expect([unasked.code, unasked.out]).to.deep.equal([2, ''])
      const begun = await user('factors', 'reset', email, '--yes')
      expect(begun.out).to.match(
        /^lost@example\.com has no second factor after \S+Z .*To stop this: user factors keep$/m,
      )
      expect((await user('show', email)).out).to.match(/^the second factors will be removed at \S+Z$/m)
      expect((await user('factors', 'keep', email)).out).to.match(/^lost@example\.com keeps the second factor/)
      const none = { code: 1, out: '', err: `portcullis: no reset of the second factors of ${email} runs\n` }
      expect(await user('factors', 'keep', email)).to.deep.equal(none)
      expect(await logsIn(email, goodPassword)).to.equal(400)

      const { code, out } = await user('factors', 'reset', email, '--now', '--yes')
      expect([code, out.replace(/ \(.*/, '')]).to.deep.equal([0, `${email} has no second factor now\n`])
      expect(await logsIn(email, goodPassword)).to.equal(200)
      expect((await user('show', email)).out).to.not.include('second factor')
      const again = { code: 1, out: '', err: `portcullis: ${email} has no second factor\n` }
      expect(await user('factors', 'reset', email, '--yes')).to.deep.equal(again)
    })

    it('deletes a user with all sessions, and frees the address', async () => {
      const email = 'leaving@example.com'
      const { id } = await register(service.url, email)
      const bearer = await logIn(service.url, email)
      expect(await user('delete', email, '--yes')).to.deep.equal(done(`deleted ${email} (${id})`))
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
    const help = (await portcullis(['user', '--help'])).out
    expect(help).to.include('takes the address or the id')
    const { code, out, err } = await portcullis(['user', 'show', 'somebody'])
    expect([code, out]).to.deep.equal([2, ''])
    expect(err).to.match(/^portcullis: give the address or the id of a user\. .*@-sign/)
    expect((await portcullis(['user', 'list', '--after', 'ada@example.com'])).code).to.equal(2)
  })

  describe('of one service', () => {
    const folder = scratchFolder()
    let service: SpawnedService
    before(async () => {
      service = await spawnService({ PORTCULLIS_HTTP__TRUSTED_PROXIES: '127.0.0.1,::1' }, folder)
    })
    after(() => service?.end('SIGTERM'))
    const run = (...args: string[]) => portcullis(args, { cwd: folder })
    const changesOf = (id: string) =>
      service.events.flatMap(({ event, user, changes }) =>
        event === 'on_after_update' && user.id === id ? [changes] : [],
      )

    it('verifies an address and sets another one, with the events of PATCH', async () => {
      const { id } = await register(service.url, 'typo@exmaple.com')
      await register(service.url, 'taken@example.com')
      expect(await run('user', 'verify', id)).to.deep.equal(done(`typo@exmaple.com is verified now (${id})`))
      const again = `typo@exmaple.com was verified already: nothing changed (${id})`
      expect(await run('user', 'verify', id)).to.deep.equal(done(again))
      const set = (address: string, ...more: string[]) => run('user', 'set-email', id, address, ...more)
      expect((await set('taken@example.com')).err).to.equal('portcullis: another user has this address\n')
      expect(await set('x!y@example.com')).to.include({ code: 2, out: '' })
      const { code, out, err } = await set('typo@example.com', '--json')
      const { createdAt, ...changed } = JSON.parse(out)
      expect([code, changed]).to.deep.equal([
        0,
        { id, email: 'typo@example.com', isActive: true, isVerified: false, isSuperuser: false, hasPassword: true },
      ])
      expect(err).to.match(/^The address is not verified\. .*user verify/)
      expect(new Date(createdAt).toISOString()).to.equal(createdAt)
      await eventually('both events', () => changesOf(id).length === 2)
      expect(changesOf(id)).to.deep.equal([
        { is_verified: true },
        { email: 'typo@example.com', previous_email: 'typo@exmaple.com', is_verified: false },
      ])
    })

    it('lists superusers, demotes one, and ends every login of the tenant', async () => {
      for (const name of ['root', 'second']) {
        const args = ['superuser', 'create', '--email', `${name}@example.com`, '--password-stdin']
        await portcullis(args, { cwd: folder, input: goodPassword })
      }
      const listed = (await run('superuser', 'list', '--json')).out
      const lines = listed.trim().split('\n')
      const [, second] = lines.map((line) => JSON.parse(line))
      expect([lines.length, second.email, second.isSuperuser]).to.deep.equal([2, 'second@example.com', true])
      const told = `second@example.com is no superuser now (${second.id})`
      expect(await run('superuser', 'demote', second.id)).to.deep.equal(done(told))
      const again = `second@example.com was no superuser already: nothing changed (${second.id})`
      expect(await run('superuser', 'demote', second.id)).to.deep.equal(done(again))
      expect((await run('superuser', 'list')).out).to.match(
        /^\S+\troot@example\.com\tactive,verified,superuser\t\S+\n$/,
      )

      const people = ['root@example.com', 'second@example.com', 'taken@example.com']
      const logins = await Promise.all(
        people.map(async (email) => ({
          bearer: await logIn(service.url, email),
          cookie: await logInByCookie(service.url, email),
        })),
      )
      const all = () => logins.flatMap(({ bearer, cookie }) => [{ bearer }, { cookie }])
      const answers = async () =>
        Promise.all(all().map(async (by) => (await call(service.url, 'GET', '/users/me', by)).status))
      expect(new Set(await answers())).to.deep.equal(new Set([200]))
      const refused = await run('sessions', 'end', '--all')
      expect([refused.code, refused.out]).to.deep.equal([2, ''])
      expect(refused.err).to.match(/^portcullis: there is no terminal to ask: give --yes/)
      expect(new Set(await answers())).to.deep.equal(new Set([200]))
      expect(await run('sessions', 'end', '--all', '--yes')).to.deep.equal(done('ended all logins of 4 users'))
      expect(new Set(await answers())).to.deep.equal(new Set([401]))
      await logIn(service.url, 'taken@example.com')
    })

    it('tells the limits of a client for a user', async () => {
      const email = 'paused@example.com'
      await register(service.url, email)
      const sent = { form: { username: email, password: 'wrong' }, headers: { 'X-Forwarded-For': '192.0.2.7' } }
      expect((await call(service.url, 'POST', '/auth/jwt/login', sent)).status).to.equal(400)
      const { out } = await run('user', 'show', email, '--client', '192.0.2.7')
      expect(out).to.match(/^limit used: passwordsPerAccount \(all clients\) 1 of 100, until \S+Z$/m)
      expect(out).to.match(/^limit used: passwordsBeforePauses \(this client\) 1 of 5, until \S+Z$/m)
      expect(await run('user', 'show', email, '--client', 'here')).to.include({ code: 2, out: '' })
      const env = {
        PORTCULLIS_STORES__SESSIONS__KIND: 'redis',
        PORTCULLIS_STORES__SESSIONS__URL: 'redis://127.0.0.1:1',
      }
      const amidOutage = await portcullis(['user', 'show', email], { cwd: folder, env })
      expect(amidOutage.out).to.match(/^email: paused@example\.com$/m)
      expect(amidOutage.out).to.match(/^sessions: unknown, because redis.*\nlimits: unknown, because redis/m)
    })

    it('exports everything about a user, and no secret', async () => {
      const email = 'curious@example.com'
      const { id } = await register(service.url, email)
      await logInByCookie(service.url, email)
      const { code, out, err } = await run('user', 'export', email)
      expect([code, err]).to.deep.equal([0, ''])
      const { createdAt, lastLoginAt, sessions, ...others } = JSON.parse(out)
      expect(others).to.deep.equal({
        id,
        email,
        isActive: true,
        isVerified: false,
        inactiveUntil: null,
        inactiveReason: null,
        isSuperuser: false,
        hasPassword: true,
        isOwnerProved: false,
        fields: {},
        formerFields: {},
        factors: [],
        factorsResetAt: null,
        accounts: [],
      })
      expect(new Date(lastLoginAt).getTime()).to.be.at.least(new Date(createdAt).getTime())
      expect(sessions).to.have.length(1)
      expect(out).not.to.include('argon2')
      const env = { PORTCULLIS_STORES__SESSIONS__KIND: 'memory' }
      const partly = await portcullis(['user', 'export', id], { cwd: folder, env })
      expect([partly.code, JSON.parse(partly.out).sessions]).to.deep.equal([1, null])
      expect(partly.err).to.match(/the sessions are missing, because stores\.sessions\.kind is memory/)
    })

    it('deletes nobody without --yes where there is no terminal', async () => {
      const { code, out, err } = await run('user', 'delete', 'taken@example.com')
      expect([code, out]).to.deep.equal([2, ''])
      expect(err).to.match(/give --yes .*taken@example\.com .*for good/)
      expect((await run('user', 'list', '--search', 'taken')).out).to.include('taken@example.com')
    })
  })

  it('prints no reset link that no route would take, and says when its address is a guess', async () => {
    const folder = scratchFolder()
    const service = await spawnService({}, folder)
    const { id } = await register(service.url, 'forgetful@example.com')
    await service.end('SIGTERM')
    // A link to another machine than that of the user is of no use.
    const guessed = await portcullis(['user', 'reset-link', id], { cwd: folder })
    expect(guessed.err).to.match(
      /^portcullis: http\.publicUrl is not set, so the link leads to http:\/\/localhost:3000: .*environment of the service.*\nWorks/,
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
    const { code, out, err } = await portcullis(['user', 'delete', 'owing@example.com', '--yes'], { cwd: folder, env })
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
