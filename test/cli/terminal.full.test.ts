import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { expect } from 'chai'
import { eventually } from '../support/eventually.ts'
import { goodPassword } from '../support/http/client.ts'
import { portcullis } from '../support/process/command-line.ts'
import { skipIfMissing } from '../support/servers/obstacles.ts'
import { executable, scratchFolder } from '../support/services/spawned-service.ts'

const onLinux = process.platform === 'linux' ? null : 'other systems have another script(1)'

/** Runs a command in a terminal, and types a line. */
async function typed(cwd: string, command: string, line: string) {
  const env = { PATH: process.env.PATH, SHELL: '/bin/sh' }
  const words = ['-qec', `exec '${process.execPath}' '${executable}' ${command}`, '/dev/null']
  const terminal = spawn('script', words, { cwd, env, stdio: ['pipe', 'pipe', 'inherit'], timeout: 120_000 })
  let shown = ''
  terminal.stdout.setEncoding('utf8').on('data', (text: string) => {
    if (!shown.includes('[y/N]') && (shown + text).includes('[y/N]')) terminal.stdin.write(`${line}\n`)
    shown += text
  })
  const [code] = await once(terminal, 'close')
  return { code, shown }
}

describe('a command in a terminal', () => {
  before(function () {
    skipIfMissing(this, onLinux)
  })

  it('asks before it deletes a user, and tells who and what is lost', async () => {
    const cwd = scratchFolder()
    const email = 'leaving@example.com'
    const create = ['superuser', 'create', '--email', email, '--password-stdin']
    await portcullis(create, { cwd, input: goodPassword })
    const declined = await typed(cwd, `user delete ${email} --force`, 'n')
    expect(declined.code).to.equal(1)
    expect(declined.shown).to.match(
      /deletes leaving@example\.com \(\S+\) for good: the account, its password, all logins/,
    )
    expect(declined.shown).to.include('Nothing was changed')
    const agreed = await typed(cwd, `user delete ${email} --force`, 'y')
    expect(agreed.code).to.equal(0)
    expect(agreed.shown).to.include(`deleted ${email}`)
  })
})

describe('a service in a terminal', () => {
  before(function () {
    skipIfMissing(this, onLinux)
  })

  it('ends when the terminal is closed', async () => {
    const cwd = scratchFolder()
    const env = { PATH: process.env.PATH, PORTCULLIS_HTTP__PORT: '0', SHELL: '/bin/sh' }
    const command = `exec '${process.execPath}' '${executable}' serve`
    const terminal = spawn('script', ['-qec', command, '/dev/null'], { cwd, env, stdio: ['pipe', 'pipe', 'inherit'] })
    let url = ''
    createInterface({ input: terminal.stdout }).on('line', (line) => {
      url ||= /Portcullis listens on (\S+)/.exec(line)?.[1] ?? ''
    })
    await eventually('the service', () => url !== '')
    expect((await fetch(`${url}/healthz`)).status).to.equal(200)

    const closed = once(terminal, 'close')
    terminal.kill('SIGKILL')
    await closed
    const isDown = async () =>
      await fetch(`${url}/healthz`).then(
        () => false,
        () => true,
      )
    await eventually('its end', isDown)
  })
})
