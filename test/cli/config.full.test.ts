import { exec } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { openStore } from '../../src/index.ts'
import { portcullis } from '../support/process/command-line.ts'
import { goodSecret } from '../support/services/settings.ts'
import { executable, scratchFolder } from '../support/services/spawned-service.ts'

const valid = 'The settings are valid\n'

describe('portcullis config check', () => {
  it('prints each value and its source, and never a secret', async () => {
    const cwd = scratchFolder()
    await writeFile(join(cwd, 'portcullis.config.json'), JSON.stringify({ http: { port: 4321 } }))
    const env = {
      PORTCULLIS_SECRET: goodSecret,
      PORTCULLIS_STORES__USERS__KIND: 'mongo',
      PORTCULLIS_STORES__USERS__URL: 'mongodb://keeper:hunter2hunter2@db.internal.example/accounts?tls=true',
      PORTCULLIS_STORES__SESSIONS__KIND: 'redis',
      PORTCULLIS_STORES__SESSIONS__URL: 'rediss://:letmeinletmein@cache.internal.example',
      PORTCULLIS_MAIL__URL: 'off',
    }
    const { code, out, err } = await portcullis(['config', 'check'], { cwd, env })
    expect([code, err]).to.deep.equal([0, valid])
    expect(out).to.match(/http\.port.*4321.*file/)
    expect(out).to.match(/stores\.users\.kind.*mongo.*PORTCULLIS_STORES__USERS__KIND/)
    expect(out).to.match(/passwords\.minLength.*8.*default/)
    expect(out).to.match(/stores\.tokens\.kind.*mongo.*default: the kind of the users/)
    expect(out).to.match(/handlers\.module +not set +default: none/)
    expect(out).to.match(/^secret +\[secret\] /m)
    expect(out).to.match(/"mongodb:\/\/\[secret\]@db\.internal\.example\/accounts\?tls=\[secret\]"/)
    expect(out).to.match(/"rediss:\/\/\[secret\]@cache\.internal\.example"/)
    expect(out).to.match(/mail\.url +"off"/)
    for (const secret of [goodSecret, 'hunter2', 'letmein']) expect(out).not.to.include(secret)
  })

  it('reports all faults at once, by their paths, with exit code 2, and no secret', async () => {
    const cwd = scratchFolder()
    const file = join(cwd, 'mine.json')
    await writeFile(file, JSON.stringify({ http: { port: 'many' }, colour: 'blue', passwords: { minLength: 3 } }))
    const env = { PORTCULLIS_SECRET: 'hunter2', PORTCULLIS_STORES__USERS__KIND: 'mysql' }
    const { code, out, err } = await portcullis(['--config', file, 'config', 'check'], { cwd, env })
    expect([code, out]).to.deep.equal([2, ''])
    for (const path of ['http.port', 'colour', 'passwords.minLength', 'stores.users.kind', 'secret']) {
      expect(err).to.include(path)
    }
    expect(err).to.include(`colour: no such setting (file ${file})\n`)
    expect(err).not.to.include('hunter2')

    const served = await portcullis(['--config', file, 'serve'], { cwd, env })
    expect(served).to.deep.equal({ code: 2, out: '', err })
  })

  it('tells when logins of fastapi-users end, which the users store knows', async () => {
    const cwd = scratchFolder()
    const env = { PORTCULLIS_SECRET: goodSecret, PORTCULLIS_COMPAT__JWT_SECRET: 'a secret of another app' }
    const told = async () => {
      const { code, err } = await portcullis(['config', 'check'], { cwd, env })
      expect(code, err).to.equal(0)
      return err
    }
    expect(await told()).to.contain('logins and links of fastapi-users go on for 30 days from the first start\n')
    const { tenantTexts, close } = await openStore({ kind: 'sqlite', dataFolder: join(cwd, 'data') })
    await tenantTexts.exchange('former-since', null, '2020-01-01')
    await close()
    expect(await told()).to.contain(
      'logins and links of fastapi-users have ended on 2020-01-31: remove compat.jwtSecret\n',
    )
  })

  it('reports another kind of ids than that of the user store, and so do the start and other commands', async () => {
    const cwd = scratchFolder()
    const made = await portcullis(['superuser', 'create', '--email', 'a@example.com', '--password-stdin', '--json'], {
      cwd,
      env: { PORTCULLIS_IDS: 'integer' },
      input: 'a quite long pass phrase',
    })
    expect(JSON.parse(made.out)).to.include({ id: 1 })
    const env = { PORTCULLIS_IDS: 'objectid', PORTCULLIS_HTTP__PORT: '0' }
    const told = 'ids: must be integer, as at the first start of this user store'
    for (const command of [['config', 'check'], ['serve'], ['user', 'list']]) {
      const { code, err } = await portcullis(command, { cwd, env })
      expect([code, err.includes(told)], `${command.join(' ')}: ${err}`).to.deep.equal([2, true])
    }
    expect((await portcullis(['config', 'check'], { cwd, env: { PORTCULLIS_IDS: 'integer' } })).err).to.equal(valid)
  })

  it('tells which settings of a move have no use any more', async () => {
    const env = {
      PORTCULLIS_SECRET: goodSecret,
      PORTCULLIS_COMPAT__UNTIL: '2026-01-31',
      PORTCULLIS_COMPAT__JWT_SECRET: 'the secret of the app',
    }
    const { code, out, err } = await portcullis(['config', 'check'], { cwd: scratchFolder(), env })
    expect([code, err.includes('compat.until has passed: remove compat.until, compat.jwtSecret')]).to.deep.equal([
      0,
      true,
    ])
    expect(out + err).not.to.include('the secret of the app')
  })

  it('refuses addresses that the driver would refuse, without connecting', async () => {
    const urls = ['mongodb://u:p:q@h/n', 'mongodb://h:0/n', 'mongodb+srv://h:27017/n', 'mongodb://h/n?nonsense=1']
    for (const url of urls) {
      const users = { PORTCULLIS_STORES__USERS__KIND: 'mongo', PORTCULLIS_STORES__USERS__URL: url }
      const { code, out, err } = await portcullis(['config', 'check'], {
        env: { ...users, PORTCULLIS_SECRET: goodSecret },
      })
      expect([code, out], url).to.deep.equal([2, ''])
      expect(err).to.match(/stores\.users\.url: .*\(environment PORTCULLIS_STORES__USERS__URL\)/)
      expect(err.match(/stores\.\w+\.url/g), 'once for all roles').to.have.length(1)
      expect(err).not.to.include(url)
    }
  })

  it('refuses a proxy for outgoing requests that the start would refuse', async () => {
    const { code, out, err } = await portcullis(['config', 'check'], {
      env: { HTTPS_PROXY: 'socks5://127.0.0.1:1080' },
    })
    expect([code, out]).to.deep.equal([2, ''])
    expect(err).to.include('HTTPS_PROXY: must be the address of a proxy')
  })

  it('loads the module of handlers, and reports a module that fails', async () => {
    const cwd = scratchFolder()
    await writeFile(join(cwd, 'broken.mjs'), 'export function on_after_register( {')
    await writeFile(join(cwd, 'good.mjs'), 'export function on_after_forgot_password() {}')
    await writeFile(join(cwd, 'audit.mjs'), 'export function on_after_register() {}')
    const checked = (module: string) =>
      portcullis(['config', 'check'], { cwd, env: { PORTCULLIS_HANDLERS__MODULE: module } })
    const broken = await checked('broken.mjs')
    expect([broken.code, broken.out]).to.deep.equal([2, ''])
    expect(broken.err)
      .to.match(/handlers\.module: .*broken\.mjs.*SyntaxError: .* \(broken\.mjs, line 1\)/)
      .and.to.include('environment PORTCULLIS_HANDLERS__MODULE')
    expect((await checked('missing.mjs')).err).to.include(`there is no file ${join(cwd, 'missing.mjs')}`)
    expect(await checked('good.mjs')).to.include({ code: 0, err: valid })
    const lost =
      'the handler module has neither on_after_forgot_password nor on_after_request_verify, and mail.url is off: nobody gets tokens'
    expect((await checked('audit.mjs')).err).to.equal(`portcullis: ${join(cwd, 'audit.mjs')}: ${lost}\n${valid}`)

    await writeFile(join(cwd, 'mistaken.mjs'), 'export function on_after_registration() {}')
    const mistaken = await checked('mistaken.mjs')
    expect(mistaken.code).to.equal(0)
    expect(mistaken.err).to.equal(
      `portcullis: ${join(cwd, 'mistaken.mjs')}: the handler module exports a name that is not a handler: on_after_registration: did you mean on_after_register?\n` +
        `portcullis: ${join(cwd, 'mistaken.mjs')}: the handler module exports no handler\n` +
        `portcullis: ${join(cwd, 'mistaken.mjs')}: ${lost}\n${valid}`,
    )
  })

  it('says which tenants are disabled or have no handlers', async () => {
    const cwd = scratchFolder()
    const write = (settings: object) => writeFile(join(cwd, 'portcullis.config.json'), JSON.stringify(settings))
    const off = { handlers: { console: false }, try: { enabled: false } }
    const none =
      'portcullis: there are no handlers and no mail, so events are discarded and nobody gets tokens: set mail.url or handlers.module'
    await write(off)
    expect(await portcullis(['config', 'check'], { cwd })).to.include({ code: 0, err: `${none}\n${valid}` })

    const list = { acme: { colour: 'blue' }, bolt: {}, cove: { handlers: { console: true } } }
    await write({ ...off, tenants: { by: 'path', list } })
    const all = await portcullis(['config', 'check'], { cwd })
    expect(all.code).to.equal(2)
    expect(all.err)
      .to.include(`${none} (1: bolt)\n`)
      .and.to.include('the tenant acme is disabled:\n  tenants.list.acme.colour: no such setting')
      .and.to.include(` (file ${join(cwd, 'portcullis.config.json')})\n`)
    expect(all.out).to.include('tenants.by')
    expect(await portcullis(['--tenant', 'cove', 'config', 'check'], { cwd })).to.include({ code: 0, err: valid })
    expect((await portcullis(['--tenant', 'bolt', 'config', 'check'], { cwd })).err).to.equal(`${none}\n${valid}`)
  })

  it('prints warnings together with the faults', async () => {
    const env = { PORTCULLIS_HTTP_PORT: '1', PORTCULLIS_HTTP__PORT: 'many' }
    const { code, err } = await portcullis(['config', 'check'], { env })
    expect(code).to.equal(2)
    expect(err).to.include('PORTCULLIS_HTTP_PORT is ignored').and.to.include('http.port')
  })

  it('prints warnings below the settings, where a terminal still shows them', async () => {
    const env = { PATH: process.env.PATH, PORTCULLIS_HTTP_PORT: '1' }
    const command = `"${process.execPath}" "${executable}" config check 2>&1`
    const { stdout } = await promisify(exec)(command, { cwd: scratchFolder(), env, timeout: 120_000 })
    expect(stdout).to.match(/\ntenants\.scanSeconds .*\nportcullis: PORTCULLIS_HTTP_PORT is ignored/)
  })

  it('does not call a setting absent whose value is wrong', async () => {
    const env = { PORTCULLIS_HTTP__PUBLIC_URL: 'https://accounts.example.com', PORTCULLIS_SECURITY__PROFILE: 'harden' }
    const { err } = await portcullis(['config', 'check'], { env })
    expect(err).to.include('security.profile: must be one of').and.not.to.include('security.profile is not set')
  })
})
