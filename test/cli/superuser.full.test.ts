import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { eventually } from '../support/eventually.ts'
import { call, goodPassword, logIn, register } from '../support/http/client.ts'
import { portcullis } from '../support/process/command-line.ts'
import type { PrintedEvent } from '../support/services/spawned-service.ts'
import { type SpawnedService, scratchFolder, spawnService } from '../support/services/spawned-service.ts'

describe('portcullis superuser create', () => {
  let folder: string
  let service: SpawnedService

  before(async () => {
    folder = scratchFolder()
    service = await spawnService({}, folder)
  })
  after(async () => {
    await service.end('SIGTERM')
  })

  const create = (email: string, input: string | Uint8Array, ...more: string[]) =>
    portcullis(['superuser', 'create', '--email', email, '--password-stdin', ...more], { cwd: folder, input })
  const logsIn = async (email: string, password: string) => {
    const form = { username: email, password }
    return (await call(service.url, 'POST', '/auth/jwt/login', { form })).status === 200
  }
  const me = async (email: string, password = goodPassword) => {
    const { body } = await call(service.url, 'GET', '/users/me', { bearer: await logIn(service.url, email, password) })
    return body as { id: string } // safe: 200 carries a User
  }

  it('creates an active, verified superuser, and a running service delivers the event', async () => {
    const { code, out, err } = await create('root@example.com', goodPassword)
    expect([code, err]).to.deep.equal([0, ''])
    const user = await me('root@example.com')
    const flags = { is_active: true, is_superuser: true, is_verified: true }
    expect(user).to.deep.equal({ id: user.id, email: 'root@example.com', ...flags })
    expect(out).to.equal(`created superuser root@example.com (${user.id})\n`)
    const told = await eventually('on_after_register', () => service.events.find((one) => one.user.id === user.id))
    expect(told).to.deep.equal({ event: 'on_after_register', user })
  })

  it('says when the user store is new', async () => {
    const elsewhere = { cwd: scratchFolder(), input: goodPassword }
    const command = ['superuser', 'create', '--password-stdin', '--email']
    const first = await portcullis([...command, 'root@example.com'], elsewhere)
    expect(first.code).to.equal(0)
    const file = join(elsewhere.cwd, 'data', 'portcullis.sqlite')
    expect(first.err).to.match(
      new RegExp(
        `^portcullis: created ${file}, which has no users yet. If .*: run the command where the service runs .*\\n`,
      ),
    )
    const second = await portcullis([...command, 'two@example.com'], elsewhere)
    expect(second.err).to.equal('')
    expect(second.out).to.match(/^created superuser \S+ \S+\n$/)
  })

  it('removes one newline at the end of the password and nothing else', async () => {
    for (const [email, input, password] of [
      ['one@example.com', ` ${goodPassword} \n`, ` ${goodPassword} `],
      ['two@example.com', `${goodPassword}\n\n`, `${goodPassword}\n`],
      ['none@example.com', `\n${goodPassword}`, `\n${goodPassword}`],
    ] as const) {
      expect((await create(email, input)).code).to.equal(0)
      expect(await logsIn(email, password)).to.equal(true)
      expect(await logsIn(email, goodPassword)).to.equal(false)
    }
  })

  it('refuses with a reason a password that registration would refuse, and one that is not UTF-8', async () => {
    const short = await create('short@example.com', 'short\n')
    expect(short.code).to.equal(1)
    expect(short.err)
      .to.match(/^portcullis: .*8 characters/)
      .and.not.to.include('short')
    const bytes = await create('bytes@example.com', Uint8Array.of(0xff, 0xfe, 0x61, 0x61, 0x61, 0x61, 0x61, 0x61, 0x61))
    expect(bytes.code).to.equal(1)
    expect(bytes.err).to.equal('portcullis: the password on standard input is not UTF-8\n')
    expect(await register(service.url, 'bytes@example.com')).to.include({ email: 'bytes@example.com' })
  })

  it('makes an existing user a superuser only with --promote, and removes a password that an attacker may know', async () => {
    const email = 'somebody@example.com'
    const { id } = await register(service.url, email)
    const another = 'another fine pass phrase'
    const refused = await create(email, another)
    expect(refused.code).to.equal(1)
    expect(refused.err).to.include('--promote').and.not.to.include(email)
    const session = await logIn(service.url, email)
    expect(await me(email)).to.include({ id, is_superuser: false })

    const promoted = await portcullis(['superuser', 'create', '--email', email, '--promote'], { cwd: folder })
    const advice =
      'This superuser has no password: one that a stranger may have chosen is removed. To set one: user reset-link\n'
    const out = `${email} is a superuser now (${id})\n`
    expect(promoted).to.deep.equal({ code: 0, out, err: advice })
    expect(await logsIn(email, goodPassword)).to.equal(false)
    expect((await call(service.url, 'GET', '/users/me', { bearer: session })).status).to.equal(401)

    await call(service.url, 'POST', '/auth/forgot-password', { json: { email } })
    const isReset = ({ event, user }: PrintedEvent) => event === 'on_after_forgot_password' && user.email === email
    const { token } = await eventually('the reset token', () => service.events.find(isReset))
    await call(service.url, 'POST', '/auth/reset-password', { json: { token, password: another } })
    expect(await me(email, another)).to.include({ id, is_superuser: true, is_verified: true, is_active: true })
    const again = await portcullis(['superuser', 'create', '--email', email, '--promote'], { cwd: folder })
    expect(again).to.deep.equal({ code: 0, out, err: '' })
    expect((await create(email, goodPassword, '--promote')).err).to.include('was not used')
    expect(await logsIn(email, another)).to.equal(true)
  })

  it('creates nobody and no store with --promote, so that a wrong address gets no rights', async () => {
    const { code, out, err } = await create('mistyped@example.com', goodPassword, '--promote')
    expect([code, out]).to.deep.equal([1, ''])
    expect(err).to.match(/^portcullis: there is no such user: .*user list --search/)
    expect(await logsIn('mistyped@example.com', goodPassword)).to.equal(false)

    const elsewhere = scratchFolder()
    const args = ['superuser', 'create', '--email', 'root@example.com', '--promote']
    expect((await portcullis(args, { cwd: elsewhere })).code).to.equal(2)
    expect(existsSync(join(elsewhere, 'data')), 'a new store').to.equal(false)
  })

  it('needs an address, and a terminal or --password-stdin', async () => {
    const noAddress = await create('nobody', goodPassword)
    expect(noAddress.code).to.equal(2)
    expect(noAddress.err).to.include('wrong arguments').and.to.include('--email').and.to.include('@-sign')
    const elsewhere = scratchFolder()
    const noPassword = await portcullis(['superuser', 'create', '-e', 'asked@example.com'], { cwd: elsewhere })
    expect(noPassword.code).to.equal(1)
    expect(noPassword.err).to.include('--password-stdin')
    expect(existsSync(join(elsewhere, 'data')), 'a new store').to.equal(false)
  })

  it('refuses users in memory with exit code 2, because only their process can reach them', async () => {
    const env = { PORTCULLIS_STORES__USERS__KIND: 'memory' }
    const args = ['superuser', 'create', '--email', 'root@example.com', '--password-stdin']
    const { code, out, err } = await portcullis(args, { env, input: goodPassword })
    expect([code, out]).to.deep.equal([2, ''])
    expect(err).to.match(/stores\.users\.kind.*memory/)
  })

  it('works without a secret and without a running service', async () => {
    const cwd = scratchFolder()
    const args = ['superuser', 'create', '--email', 'first@example.com', '--password-stdin']
    expect((await portcullis(args, { cwd, input: goodPassword })).code).to.equal(0)
    const later = await spawnService({}, cwd)
    await logIn(later.url, 'first@example.com')
    await eventually('its event', () => later.events.some(({ user }) => user.email === 'first@example.com'))
    await later.end('SIGTERM')
  })
})
